#include "libpsgd/replay/engine.hpp"

#include <chrono>

namespace psgd::replay {
namespace {

using Clock = std::chrono::steady_clock;

/// Adds the time from its making to its end to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(Clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  double& sum_;
  Clock::time_point start_;
};

}  // namespace

template <class T>
Engine<T>::Engine(const Stage<T>& stage, std::span<const ConfigurationSpec> specs)
    : stage_(stage), ranks_(*stage.backend, stage.selection->layout, stage.selection->process_ranks.size()) {
  for (const ConfigurationSpec& spec : specs)
    configurations_.push_back(std::make_unique<Configuration<T>>(stage_, spec));
  if (stage_.selection->process_ranks.size() > 1) group_by_start(specs);
}

template <class T>
void Engine<T>::group_by_start(std::span<const ConfigurationSpec> specs) {
  std::map<std::int64_t, std::size_t> group_of_start;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const compress::PowerSGDOptions& options = specs[i].options.power_sgd;
    if (specs[i].arithmetic != Arithmetic::fused || !specs[i].entry->keeps_errors || !options.use_error_feedback)
      continue;
    const auto [entry, fresh] = group_of_start.try_emplace(options.start_powerSGD_iter, groups_.size());
    if (fresh) groups_.push_back({{}, &ranks_.add_deviations(), {}});
    groups_[entry->second].members.push_back(i);
    configurations_[i]->set_deviations(groups_[entry->second].deviations, groups_[entry->second].members.size() - 1);
  }
}

template <class T>
void Engine<T>::run_step(const dump::StepData<T>& data, std::int64_t step) {
  const GradientLayout& layout = stage_.selection->layout;
  double shared_seconds = 0;
  std::vector<double> seconds(configurations_.size(), 0.0);
  std::vector<const T*> gradients;
  {
    const Stopwatch watch(shared_seconds);
    for (std::size_t rank = 0; rank < data.gradients.size(); ++rank) {
      const std::span<const T> host(data.gradients[rank], static_cast<std::size_t>(layout.extent));
      gradients.push_back(stage_.backend->stage(host, rank));
    }
    begin_deviations();
  }
  std::vector<const T*> here(gradients.size());
  for (std::size_t position = 0; position < layout.buckets.size(); ++position) {
    const T* mean = nullptr;
    {
      const Stopwatch watch(shared_seconds);
      for (std::size_t rank = 0; rank < gradients.size(); ++rank)
        here[rank] = gradients[rank] + layout.buckets[position].begin;
      mean = ranks_.reduce(position, here, parts(position));
    }
    run_bucket(position, here, mean, seconds);
  }
  {
    const Stopwatch watch(shared_seconds);
    stage_.backend->synchronize();
  }
  complete_residual_norms();
  if (watch_ != nullptr) watch_->end_step(configurations_, ranks_);
  const std::vector<const T*> host(data.gradients.begin(), data.gradients.end());
  for (std::size_t i = 0; i < configurations_.size(); ++i) {
    configurations_[i]->record_step(step, ranks_, host, {shared_seconds + seconds[i], seconds[i]});
  }
}

template <class T>
void Engine<T>::run_bucket(std::size_t position, std::span<const T* const> gradients, const T* mean,
                           std::vector<double>& seconds) {
  const bool looks = watch_ != nullptr && watch_->looks();
  if (looks) watch_->look_at_mean(position, mean);
  for (std::size_t i = 0; i < configurations_.size(); ++i) {
    if (looks) watch_->keep_target(position, mean, *configurations_[i]);
    {
      const Stopwatch watch(seconds[i]);
      configurations_[i]->run_bucket(position, gradients, mean);
    }
    if (looks) watch_->look_at_target(position, i, *configurations_[i]);
  }
}

template <class T>
void Engine<T>::begin_deviations() {
  for (Group& group : groups_) {
    if (configurations_[group.members.front()]->hook().feeds_back_now()) group.deviations->begin();
  }
}

template <class T>
void Engine<T>::collect_errors(Group& group, std::size_t position) {
  group.errors.clear();
  for (const std::size_t member : group.members) {
    const T* const error = configurations_[member]->hook().error_memory(position, 0);
    if (error != nullptr) group.errors.push_back(error);
  }
}

template <class T>
std::vector<typename RankMean<T>::Part> Engine<T>::parts(std::size_t position) {
  std::vector<typename RankMean<T>::Part> result;
  for (Group& group : groups_) {
    if (!group.deviations->begun()) continue;
    collect_errors(group, position);
    result.push_back({group.deviations, group.errors});
  }
  return result;
}

template <class T>
void Engine<T>::finish() {
  for (Group& group : groups_) {
    if (!group.deviations->begun()) continue;
    for (std::size_t position = 0; position < stage_.selection->layout.buckets.size(); ++position) {
      collect_errors(group, position);
      ranks_.measure(position, {group.deviations, group.errors});
    }
  }
  stage_.backend->synchronize();
  complete_residual_norms();
}

template <class T>
void Engine<T>::complete_residual_norms() {
  for (const auto& configuration : configurations_) configuration->complete_residual_norms();
}

template class Engine<float>;
template class Engine<double>;

}  // namespace psgd::replay
