#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/model/step_time.hpp"
#include "libpsgd/replay/sweep.hpp"

/// What a sweep's measurements say about which rank and which knobs to use, or whether to compress at all.
namespace psgd::replay {

struct AdviceOptions {
  /// The network and the job; unset: no times are predicted.
  std::optional<model::Cluster> cluster;
  /// A whole-model relative error, ‖O − G‖/‖G‖ over all parameters, that a plan may leave.
  std::optional<double> error_budget;
  /// Bytes a process rank may send in a step.
  std::optional<double> byte_budget;
};

/// One configuration, judged.
struct JudgedConfiguration {
  std::size_t index = 0;        ///< into SweepResult::configurations
  double relative_error = 0;    ///< whole model, mean over steps
  double bytes_per_step = 0;    ///< a process rank sends, compressed steps
  double compress_seconds = 0;  ///< measured here, a step
  std::optional<model::StepTime> time;
  std::optional<double> break_even_bandwidth;  ///< bytes a second, below which it pays; infinite: always
  std::optional<std::int64_t> break_even_process_ranks;
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
  std::optional<double> break_even_bandwidth;
};

/// Ranks layer by layer.
struct LayerwisePlan {
  bool meets_budget = true;  ///< false: nobody can; this is the nearest that comes to it
  double bytes = 0;
  double relative_error = 0;
  std::vector<LayerPlan> layers;
};

struct Advice {
  std::optional<model::StepTime> dense;
  double dense_bytes = 0;
  std::vector<JudgedConfiguration> configurations;
  std::optional<std::size_t> recommended;  ///< into SweepResult::configurations; none: do not compress
  std::optional<LayerwisePlan> plan;       ///< only with a budget and several ranks of one configuration
  std::vector<std::string> reasons;        ///< sentences with the numbers behind the recommendation
  std::string pytorch;                     ///< to paste; "" when nothing is recommended
  std::string epfml;
};

/// Judges a sweep. Plans need configurations that differ in nothing but matrix_approximation_rank (the first such set
/// is used). Throws Error::usage for budgets that are not positive, Error::input when the sweep holds no configuration.
Advice advise(const SweepResult& sweep, const AdviceOptions& options);

/// `PowerSGDState(...)` with every parameter that differs from PyTorch's default.
std::string pytorch_state(const compress::PowerSGDOptions& options);

/// epfml/powersgd's `Config(...)` that does the same work: two iterations a step (both factors), its threshold counting
/// half of what two factors take.
std::string epfml_config(const compress::PowerSGDOptions& options);

}  // namespace psgd::replay
