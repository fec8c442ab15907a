#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/model/step_time.hpp"
#include "libpsgd/replay/distribute.hpp"
#include "libpsgd/replay/replay.hpp"
#include "libpsgd/replay/spectrum_analysis.hpp"
#include "libpsgd/replay/summary.hpp"

namespace psgd::replay {

/// Values for every knob of a replay; a grid is their product. An empty list leaves the base's value.
struct Grid {
  std::vector<std::string> hook;
  std::vector<std::int64_t> matrix_approximation_rank;
  std::vector<std::int64_t> start_powerSGD_iter;
  std::vector<double> min_compression_rate;
  std::vector<bool> use_error_feedback;
  std::vector<bool> warm_start;
  std::vector<bool> batch_tensors_with_same_shape;
  std::vector<double> orthogonalization_epsilon;
  std::vector<std::uint32_t> random_seed;
  std::vector<double> fraction;
  std::vector<int> quantization_bits;
  std::vector<std::int64_t> quantization_chunk;
  std::vector<std::string> orthogonalization;
  std::vector<compress::Residual> residual;
  std::vector<Arithmetic> arithmetic;
  std::vector<DType> dtype;
};

/// Every combination once, the last knob changing fastest. Knobs that a hook does not know do not multiply its
/// configurations. Throws Error::usage naming the combination when one contradicts itself, when a list names a value
/// twice, and when values were given for a knob that no hook of the grid knows.
std::vector<ReplaySpec> expand(const ReplaySpec& base, const Grid& grid);

/// "powersgd r=4 seed=1": what tells this configuration from the others of a grid; "" when there is only one.
std::vector<std::string> labels(const std::vector<ReplaySpec>& configurations);

/// One configuration of a sweep.
struct ConfigurationResult {
  ResolvedSpec resolved;
  std::string label;
  Summary summary;
  std::vector<ParameterSummary> parameters;  ///< as SweepResult::parameters
  Spread
      relative_error_sound_model;  ///< of the whole model, a parameter left out once its gradient was NaN or infinite
  std::vector<model::BucketCost> buckets;  ///< what a compressed step sends and takes, bucket by bucket
};

/// What a sweep does beside replaying.
struct SweepRequest {
  SpectrumSpec spectrum;
  /// A file that keeps what is done, and that a sweep of the same configurations on the same dump goes on from.
  std::optional<std::filesystem::path> resume;
  double checkpoint_seconds = 60;                      ///< between two writes of it during a pass; 0: after every step
  Distribute distribute = Distribute::configurations;  ///< what MPI processes share out
};

struct SweepResult {
  bool complete = true;
  dump::Description dump;
  std::vector<std::int64_t> process_ranks;
  std::vector<std::int64_t> steps;  ///< recorded numbers of the steps that every configuration went through
  std::vector<ReplayedParameter> parameters;
  std::int64_t numel = 0;
  std::size_t passes = 0;         ///< over the dump
  std::uint64_t state_bytes = 0;  ///< the most that a pass keeps besides gradients
  double seconds_read = 0;
  double seconds_total = 0;
  std::vector<ConfigurationResult> configurations;  ///< in the order given; without those a stop left undone
  std::optional<SpectrumAnalysis> spectrum;         ///< when it was asked for
  std::vector<StartSuggestion> starts;              ///< as `parameters`; empty without a spectrum
};

/// Replays all configurations on one dump, each recorded gradient read once a pass: K fused configurations, W process
/// ranks and S distinct starts keep K + S·W model-sized states. When they exceed the memory limit, or configurations
/// differ in computing type or bucket padding, several passes are made. Results equal separate replays bit for bit,
/// times aside.
///
/// `configurations` share files, steps, process ranks, parameters, memory limit, threads, backend and transport: the
/// first one's count. With SweepRequest::resume a stop, or the end of the process at any time, loses at most the steps
/// since the file was written last; going on gives the same results bit for bit, times aside.
///
/// Throws as run_replay, Error::unavailable when started as one of several MPI processes, Error::input for a file to
/// resume from that is another sweep's, and Error::input when fewer steps would be analysed than a suggested start
/// needs.
SweepResult run_sweep(const std::vector<ReplaySpec>& configurations, const ReplayEnvironment& environment = {},
                      const SweepRequest& request = {});

}  // namespace psgd::replay
