#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libpsgd/compress/registry.hpp"
#include "libpsgd/replay/hazard_watch.hpp"
#include "libpsgd/replay/rank_mean.hpp"
#include "libpsgd/replay/result.hpp"
#include "libpsgd/replay/selection.hpp"
#include "libpsgd/replay/summary.hpp"

namespace psgd::replay {

/// What all configurations of a replay share.
template <class T>
struct Stage {
  backend::Backend<T>* backend = nullptr;
  const Selection* selection = nullptr;
  const dump::Description* dump = nullptr;
  std::string transport = "simulated";
  LogSink log;
};

/// Takes the records of one step once they are whole: parameters in the dump's order, buckets ascending. They may be
/// moved from.
using StepSink = std::function<void(std::vector<ParameterRecord>&, std::vector<BucketRecord>&)>;

/// Wall time of a step.
struct StepSeconds {
  double all = 0;  ///< what the process ranks share included
  double own = 0;  ///< the configuration's hook alone
};

/// One configuration, resolved to what the library works with.
struct ConfigurationSpec {
  const compress::HookEntry* entry = nullptr;
  compress::HookOptions options;
  Arithmetic arithmetic = Arithmetic::fused;
  bool want_output = false;
  StepSink sink;
};

/// One configuration on its way through the steps: a hook, its all-reduce, and the records it hands on.
template <class T>
class Configuration {
 public:
  Configuration(const Stage<T>& stage, const ConfigurationSpec& spec);

  /// In fused arithmetic with several process ranks: the set of deviations whose sum with the mean error memory is a
  /// rank's own, and this configuration's place among the error memories that the set is measured against.
  void set_deviations(Deviations<T>* deviations, std::size_t place) {
    deviations_ = deviations;
    place_ = place;
  }
  [[nodiscard]] Deviations<T>* deviations() const noexcept { return deviations_; }

  [[nodiscard]] compress::Hook<T>& hook() noexcept { return *hook_; }
  [[nodiscard]] const compress::Hook<T>& hook() const noexcept { return *hook_; }

  /// Runs the bucket at `position` of the current step. `gradients`: a process rank each; all pointers are to the
  /// bucket.
  void run_bucket(std::size_t position, std::span<const T* const> gradients, const T* mean);

  /// Makes the step's records; the sums have to be there (Backend::synchronize). They go to the sink at once, or, where
  /// residual norms need the deviations that the next reduction measures, from complete_residual_norms.
  void record_step(std::int64_t step, const RankMean<T>& ranks, std::span<const T* const> gradients,
                   const StepSeconds& seconds);

  /// Fills in the residual norms of the step recorded last, from a reduction made since, and hands it on.
  void complete_residual_norms();

  /// The hook's output of the step, layout.extent elements; empty unless it was wanted.
  [[nodiscard]] std::span<const T> output() const noexcept { return averaged_.span(); }

  [[nodiscard]] const std::vector<StepSeconds>& seconds_of_compressed_steps() const noexcept { return seconds_; }
  void restore_seconds(std::vector<StepSeconds> seconds) { seconds_ = std::move(seconds); }

  /// Members of the hook: 1 in fused arithmetic, else the process ranks.
  [[nodiscard]] std::size_t members() const noexcept {
    return arithmetic_ == Arithmetic::fused ? 1 : stage_.selection->process_ranks.size();
  }
  [[nodiscard]] HazardWatch<T>& hazards() noexcept { return hazards_; }

 private:
  [[nodiscard]] const GradientLayout& layout() const { return stage_.selection->layout; }
  void hand_on();
  [[nodiscard]] ParameterRecord parameter_record(std::int64_t step, const compress::TensorOutcome& outcome,
                                                 const TensorSlot& slot) const;
  [[nodiscard]] BucketRecord bucket_record(std::int64_t step, const compress::BucketOutcome& outcome,
                                           const Bucket& bucket) const;

  Stage<T> stage_;
  Arithmetic arithmetic_;
  bool keeps_errors_;
  std::unique_ptr<comm::Communicator<T>> communicator_;
  std::unique_ptr<compress::Hook<T>> hook_;
  backend::Buffer<T> averaged_;
  HazardWatch<T> hazards_;
  std::vector<std::size_t> row_of_tensor_;  // record of a step for each tensor in bucket order
  StepSink sink_;
  std::vector<ParameterRecord> records_;      // of the latest step
  std::vector<BucketRecord> bucket_records_;  // of the latest step
  std::vector<StepSeconds> seconds_;
  Deviations<T>* deviations_ = nullptr;
  std::size_t place_ = 0;
  bool residual_norms_open_ = false;
};

/// What a configuration came to after its last step. `steps`: how many were run.
template <class T>
void summarize(Configuration<T>& configuration, const ErrorSummary& errors, const compress::HookEntry& entry,
               std::int64_t steps, Summary& summary);

}  // namespace psgd::replay
