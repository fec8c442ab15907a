#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "libpsgd/dump/step_stream.hpp"
#include "libpsgd/replay/configuration.hpp"
#include "libpsgd/replay/rank_mean.hpp"
#include "libpsgd/replay/spectrum_watch.hpp"

namespace psgd::replay {

/// Takes any number of configurations through the steps of a dump together: each recorded gradient is read once, its
/// mean is taken once, and the deviations of process ranks are kept once for all configurations that start at the same
/// step. With K fused configurations, W process ranks and S starts it keeps K + S·W model-sized states.
template <class T>
class Engine {
 public:
  Engine(const Stage<T>& stage, std::span<const ConfigurationSpec> specs);

  /// Lets `watch` look at every step from now on; it has to outlive the engine. Its time is no configuration's.
  void set_watch(SpectrumWatch<T>* watch) { watch_ = watch; }

  void run_step(const dump::StepData<T>& data, std::int64_t step);

  /// After the last step: completes its residual norms.
  void finish();

  [[nodiscard]] std::size_t size() const noexcept { return configurations_.size(); }
  [[nodiscard]] Configuration<T>& configuration(std::size_t index) { return *configurations_[index]; }

 private:
  /// The configurations that share a set of deviations.
  struct Group {
    std::vector<std::size_t> members;
    Deviations<T>* deviations = nullptr;
    std::vector<const T*> errors;  // of the bucket in hand
  };

  void run_bucket(std::size_t position, std::span<const T* const> gradients, const T* mean,
                  std::vector<double>& seconds);
  void group_by_start(std::span<const ConfigurationSpec> specs);
  void begin_deviations();
  [[nodiscard]] std::vector<typename RankMean<T>::Part> parts(std::size_t position);
  void collect_errors(Group& group, std::size_t position);
  void complete_residual_norms();

  Stage<T> stage_;
  RankMean<T> ranks_;
  std::vector<std::unique_ptr<Configuration<T>>> configurations_;
  std::vector<Group> groups_;
  SpectrumWatch<T>* watch_ = nullptr;
};

}  // namespace psgd::replay
