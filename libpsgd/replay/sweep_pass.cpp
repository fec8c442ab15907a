#include "libpsgd/replay/sweep_pass.hpp"

#include "libpsgd/dump/step_stream.hpp"
#include "libpsgd/replay/resolve.hpp"

namespace psgd::replay {

template <class T>
SweepPass<T>::SweepPass(const Sweep& sweep, const Pass& pass, SweepResult& result)
    : sweep_(sweep),
      pass_(pass),
      result_(result),
      pool_(sweep.resolved.front().spec.threads),
      backend_(backend::make_backend<T>(sweep.resolved.front().spec.backend, pool_)),
      stage_{backend_.get(), &pass.selection, &result.dump, sweep.resolved.front().spec.transport,
             sweep.environment.log},
      errors_(pass.members.size()),
      specs_(specs()),
      engine_(stage_, specs_) {
  for (const ConfigurationSpec& spec : specs_) wires_.emplace_back(pass.selection, *spec.entry);
  if (result.spectrum) {
    watch_.emplace(stage_, pool_, pass.members, result.passes == 0, *result.spectrum);
    engine_.set_watch(&*watch_);
  }
  for (std::size_t i = 0; i < engine_.size(); ++i) {
    engine_.configuration(i).hazards().look_at_configuration(*specs_[i].entry);
    engine_.configuration(i).hazards().look_at_loss_scale(sweep.reader);
  }
}

template <class T>
std::vector<ConfigurationSpec> SweepPass<T>::specs() {
  std::vector<ConfigurationSpec> specs;
  for (std::size_t i = 0; i < pass_.members.size(); ++i) {
    const ResolvedSpec& resolved = sweep_.resolved[pass_.members[i]];
    const StepSink sink = [this, i](std::vector<ParameterRecord>& records, std::vector<BucketRecord>& buckets) {
      errors_[i].add_step(records);
      wires_[i].add_step(records, buckets);
    };
    specs.push_back(
        {&compress::hook(resolved.spec.hook), hook_options(resolved.spec), resolved.arithmetic, false, sink});
  }
  return specs;
}

template <class T>
bool SweepPass<T>::run(const std::function<void()>& after_step) {
  const std::vector<std::size_t>& chosen = pass_.selection.step_indices;
  const std::vector<std::size_t> left(chosen.begin() + static_cast<std::ptrdiff_t>(steps_.size()), chosen.end());
  dump::StepStream<T> stream(sweep_.reader, left, pass_.selection.process_ranks, pass_.selection.layout,
                             pass_.memory.steps_in_memory);
  bool complete = true;
  while (true) {
    complete = !(sweep_.environment.stop_requested && sweep_.environment.stop_requested());
    if (!complete) break;
    const dump::StepData<T>* const data = stream.next();
    if (data == nullptr) break;
    if (watch_) watch_->begin_step(result_.dump.steps[data->step_index], steps_.size());
    engine_.run_step(*data, result_.dump.steps[data->step_index]);
    steps_.push_back(result_.dump.steps[data->step_index]);
    sweep_.progress.advance(1);
    after_step();
  }
  settle();
  result_.seconds_read += stream.seconds_reading();
  return complete;
}

template <class T>
void SweepPass<T>::summarize_into_result() {
  for (std::size_t i = 0; i < engine_.size(); ++i) {
    ConfigurationResult& configuration = result_.configurations[pass_.members[i]];
    summarize(engine_.configuration(i), errors_[i], *specs_[i].entry, static_cast<std::int64_t>(steps_.size()),
              configuration.summary);
    configuration.parameters = errors_[i].parameters();
    configuration.relative_error_sound_model = errors_[i].relative_error_sound_model();
    configuration.buckets = wires_[i].bucket_costs(configuration.summary.seconds_compressing);
  }
  result_.steps = steps_;
}

template class SweepPass<float>;
template class SweepPass<double>;

}  // namespace psgd::replay
