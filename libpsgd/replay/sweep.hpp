#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libpsgd/replay/replay.hpp"
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
  std::vector<std::string> orthogonalization;
  std::vector<compress::Residual> residual;
  std::vector<Arithmetic> arithmetic;
  std::vector<DType> dtype;
};

/// Every combination once, the last knob changing fastest. Knobs that a hook does not know do not multiply its
/// configurations. Throws Error::usage naming the combination when one contradicts itself, and when a list names a
/// value twice.
std::vector<ReplaySpec> expand(const ReplaySpec& base, const Grid& grid);

/// "powersgd r=4 seed=1": what tells this configuration from the others of a grid; "" when there is only one.
std::vector<std::string> labels(const std::vector<ReplaySpec>& configurations);

/// One configuration of a sweep.
struct ConfigurationResult {
  ResolvedSpec resolved;
  std::string label;
  Summary summary;
  std::vector<ParameterSummary> parameters;  ///< as SweepResult::parameters
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
};

/// Replays all configurations on one dump, each recorded gradient read once a pass: K fused configurations, W process
/// ranks and S distinct starts keep K + S·W model-sized states. When they exceed the memory limit, or configurations
/// differ in computing type or bucket padding, several passes are made. Results equal separate replays bit for bit,
/// times aside.
///
/// `configurations` share files, steps, process ranks, parameters, memory limit, threads, backend and transport: the
/// first one's count. Throws as run_replay.
SweepResult run_sweep(const std::vector<ReplaySpec>& configurations, const ReplayEnvironment& environment = {});

}  // namespace psgd::replay
