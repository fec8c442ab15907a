#include "libpsgd/replay/factor_recorder.hpp"

#include <algorithm>
#include <memory>

#include "libpsgd/backend/registry.hpp"
#include "libpsgd/dump/step_stream.hpp"
#include "libpsgd/replay/engine.hpp"
#include "libpsgd/replay/memory_plan.hpp"
#include "libpsgd/replay/resolve.hpp"
#include "libpsgd/replay/summary.hpp"

namespace psgd::replay {
namespace {

double median_seconds(const std::vector<StepSeconds>& steps) {
  std::vector<double> seconds;
  seconds.reserve(steps.size());
  for (const StepSeconds& step : steps) seconds.push_back(step.all);
  return seconds.empty() ? 0 : median(std::move(seconds));
}

template <class T>
void replay(dump::Reader& reader, const ResolvedSpec& resolved, const std::function<bool()>& stop_requested,
            RecordedFactors& result) {
  const compress::HookEntry& hook = compress::hook(resolved.spec.hook);
  const Selection selection = select(reader.description(), resolved.spec, hook);
  const MemoryPlan memory = plan_memory({&resolved, 1}, selection);
  ThreadPool pool(resolved.spec.threads);
  const auto inner = backend::make_backend<T>(resolved.spec.backend, pool);
  FactorRecorder<T> recorder(*inner);
  const Stage<T> stage{&recorder, &selection, &reader.description(), resolved.spec.transport, {}};
  const StepSink sink = [](std::vector<ParameterRecord>&, std::vector<BucketRecord>&) {};
  const ConfigurationSpec spec{&hook, hook_options(resolved.spec), resolved.arithmetic, false, sink};
  Engine<T> engine(stage, {&spec, 1});
  dump::StepStream<T> stream(reader, selection.step_indices, selection.process_ranks, selection.layout,
                             memory.steps_in_memory);
  while (true) {
    if (stop_requested && stop_requested()) {
      result.complete = false;
      return;
    }
    const dump::StepData<T>* const data = stream.next();
    if (data == nullptr) break;
    if (data->step_index == selection.step_indices.back()) recorder.start();
    engine.run_step(*data, reader.description().steps[data->step_index]);
  }
  engine.finish();
  result.batches = recorder.batches();
  result.step_seconds = median_seconds(engine.configuration(0).seconds_of_compressed_steps());
}

}  // namespace

template <class T>
void FactorRecorder<T>::record(std::span<const backend::Factor<T>> factors) {
  if (!recording_) return;
  for (const backend::Factor<T>& factor : factors) {
    const std::string_view kind = projected_ ? replay_p : replay_q;
    const auto same = [&](const FactorBatch& batch) {
      return batch.input == kind && batch.shape.rows == factor.rows && batch.shape.cols == factor.cols;
    };
    auto batch = std::find_if(batches_.begin(), batches_.end(), same);
    if (batch == batches_.end()) {
      batches_.push_back({{factor.rows, factor.cols, 0}, std::string(kind), {}});
      batch = batches_.end() - 1;
    }
    std::vector<T> host(static_cast<std::size_t>(factor.rows * factor.cols));
    backend_.download(factor.data, host);
    backend_.synchronize();
    batch->values.insert(batch->values.end(), host.begin(), host.end());
    ++batch->shape.batch;
  }
}

template class FactorRecorder<float>;
template class FactorRecorder<double>;

RecordedFactors record_factors(const ReplaySpec& spec, const std::function<bool()>& stop_requested) {
  check_spec(spec);
  dump::ReaderOptions options;
  options.memory_limit = spec.memory_limit;
  options.threads = spec.threads;
  dump::Reader reader(spec.files, options);
  const ResolvedSpec resolved = resolve(spec, reader.description(), std::nullopt);
  RecordedFactors result;
  result.dtype = resolved.dtype;
  if (resolved.dtype == DType::float64) {
    replay<double>(reader, resolved, stop_requested, result);
  } else {
    replay<float>(reader, resolved, stop_requested, result);
  }
  return result;
}

}  // namespace psgd::replay
