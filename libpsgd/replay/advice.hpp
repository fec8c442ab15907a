#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/model/break_even.hpp"
#include "libpsgd/replay/sweep.hpp"

/// What a sweep's measurements say about which rank and which knobs to use, or whether to compress at all.
namespace psgd::replay {

/// Where the network's numbers come from.
struct NetworkOrigin {
  std::string name;                 ///< of a preset or file; "" when given by hand
  std::string source;               ///< one sentence
  std::optional<double> fit_error;  ///< largest relative error of the fit to measurements
};

struct AdviceOptions {
  /// The network and the job; unset: no times are predicted, and break-even bandwidths are those without latency among
  /// the process ranks that were recorded.
  std::optional<model::Cluster> cluster;
  NetworkOrigin network;
  /// Time to compress on the job's device over the time measured here.
  double compression_scale = 1;
  /// A whole-model relative error, ‖O − G‖/‖G‖ over all parameters, that a plan may leave.
  std::optional<double> error_budget;
  /// Bytes a process rank may send in a step.
  std::optional<double> byte_budget;
};

/// One parameter that a configuration compresses by itself, judged as if its bucket's collectives took place anyway.
struct JudgedLayer {
  std::size_t parameter = 0;  ///< into SweepResult::parameters
  double bytes = 0;           ///< a process rank sends, a step
  double dense_bytes = 0;
  double compress_seconds = 0;  ///< its share, by elements, of the time measured for a step
  std::optional<double> break_even_bandwidth;
  std::optional<model::ProcessRankRange> break_even_process_ranks;  ///< only with a network
};

/// One configuration, judged.
struct JudgedConfiguration {
  std::size_t index = 0;        ///< into SweepResult::configurations
  double relative_error = 0;    ///< whole model, mean over steps; without parameters that are NaN or infinite
  double bytes_per_step = 0;    ///< a process rank sends, compressed steps
  double compress_seconds = 0;  ///< of one process rank, a step: measured here, times AdviceOptions::compression_scale
  std::optional<model::StepTime> time;
  std::optional<double> break_even_bandwidth;  ///< bytes a second, below which it pays; infinite: always
  std::optional<model::ProcessRankRange> break_even_process_ranks;  ///< only with a network
  std::vector<JudgedLayer> layers;
  bool on_front = false;  ///< no other has both less error and fewer bytes (or less time, where times are predicted)
};

/// One layer in the plan.
struct LayerPlan {
  std::size_t parameter = 0;  ///< into SweepResult::parameters
  std::int64_t rank = 0;      ///< 0: send it uncompressed
  double bytes = 0;
  double dense_bytes = 0;
  double relative_error = 0;
  bool worth_compressing = true;  ///< false: no rank tried saves bytes, or (with a network) time
};

/// Ranks layer by layer.
struct LayerwisePlan {
  bool meets_budget = true;  ///< false: nobody can; this is the nearest that comes to it
  double bytes = 0;
  double relative_error = 0;
  std::optional<double> seconds;  ///< sending and compressing without overlap and latency; only with a network
  std::vector<LayerPlan> layers;
};

struct Advice {
  model::Cluster
      cluster;  ///< what was reckoned with; without a network only its number of process ranks means something
  bool has_network = false;
  NetworkOrigin network;
  std::optional<model::StepTime> dense;
  double dense_bytes = 0;
  std::vector<JudgedConfiguration> configurations;
  std::optional<std::size_t> recommended;  ///< into SweepResult::configurations; none: do not compress
  std::optional<LayerwisePlan> plan;       ///< only with a budget and several ranks of one configuration
  std::vector<std::size_t> not_finite;     ///< parameters with NaN or infinity in a gradient or output
  std::vector<std::string> reasons;        ///< sentences with the numbers behind the recommendation
  std::string pytorch;                     ///< to paste; "" when nothing is recommended, or PyTorch has no such hook
  std::string epfml;                       ///< likewise
};

/// Judges a sweep. Plans need configurations that differ in nothing but matrix_approximation_rank (the first such set
/// is used). Throws Error::usage for budgets that are not positive and a network that makes no sense, Error::input when
/// the sweep holds no configuration.
Advice advise(const SweepResult& sweep, const AdviceOptions& options);

}  // namespace psgd::replay
