#include "libpsgd/replay/replay.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>

#include "libpsgd/backend/registry.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/dump/averaged_writer.hpp"
#include "libpsgd/dump/pending_file.hpp"
#include "libpsgd/dump/step_stream.hpp"
#include "libpsgd/replay/describe.hpp"
#include "libpsgd/replay/engine.hpp"
#include "libpsgd/replay/memory_plan.hpp"
#include "libpsgd/replay/resolve.hpp"
#include "libpsgd/replay/state_file.hpp"
#include "libpsgd/replay/summary.hpp"

namespace psgd::replay {
namespace {

using Clock = std::chrono::steady_clock;

/// The files a replay leaves; made before any work is done, so that a bad path shows at once.
template <class T>
struct Outputs {
  Outputs(const ReplaySpec& spec, const dump::Description& dump, const GradientLayout& layout) {
    if (spec.output) averaged.emplace(*spec.output, dump.parameters, layout);
    if (spec.state_out) state.emplace(*spec.state_out);
  }

  std::optional<dump::AveragedWriter<T>> averaged;
  std::optional<dump::PendingFile> state;
};

/// Everything a replay works on, whatever it computes in.
struct Job {
  const ReplayEnvironment& environment;
  dump::Reader& reader;
  const Selection& selection;
  const compress::HookEntry& hook;
  const std::optional<StateHeader>& state;
  std::size_t steps_in_memory;
};

/// Goes through the steps until they end or a stop is asked for.
template <class T>
void run_steps(const Job& job, Engine<T>& engine, Outputs<T>& outputs, ReplayResult& result) {
  const Selection& selection = job.selection;
  dump::StepStream<T> stream(job.reader, selection.step_indices, selection.process_ranks, selection.layout,
                             job.steps_in_memory);
  ProgressScope progress(job.environment.progress != nullptr ? *job.environment.progress : no_progress(),
                         selection.step_indices.size(), "steps");
  while (true) {
    if (job.environment.stop_requested && job.environment.stop_requested()) {
      result.complete = false;
      break;
    }
    const dump::StepData<T>* const data = stream.next();
    if (data == nullptr) break;
    const std::int64_t step = result.dump.steps[data->step_index];
    engine.run_step(*data, step);
    if (outputs.averaged) outputs.averaged->append(step, engine.configuration(0).output());
    result.steps.push_back(step);
    progress.advance();
  }
  if (!result.complete && result.steps.empty()) {
    throw Error(ErrorKind::interrupted, "interrupted before the first step: nothing was written");
  }
  engine.finish();
  result.summary.seconds_read = stream.seconds_reading();
}

/// Keeps every record and gathers their errors.
StepSink keep_records(ReplayResult& result, ErrorSummary& errors) {
  return [&result, &errors](std::vector<ParameterRecord>& records, std::vector<BucketRecord>& buckets) {
    errors.add_step(records);
    std::move(records.begin(), records.end(), std::back_inserter(result.records));
    std::move(buckets.begin(), buckets.end(), std::back_inserter(result.bucket_records));
  };
}

template <class T>
void run_in(const Job& job, ReplayResult& result) {
  const ReplaySpec& spec = result.resolved.spec;
  ThreadPool pool(spec.threads);
  const std::unique_ptr<backend::Backend<T>> backend = backend::make_backend<T>(spec.backend, pool);
  const Stage<T> stage{backend.get(), &job.selection, &result.dump, spec.transport, job.environment.log};
  ErrorSummary errors;
  const ConfigurationSpec configuration{&job.hook, hook_options(spec), result.resolved.arithmetic,
                                        spec.output.has_value(), keep_records(result, errors)};
  Engine<T> engine(stage, {&configuration, 1});
  if (job.state) restore_state(*spec.state_in, *job.state, job.selection.layout, engine.configuration(0));
  Outputs<T> outputs(spec, result.dump, job.selection.layout);
  engine.configuration(0).hazards().look_at_configuration(job.hook);
  if (job.state && job.state->last_step) engine.configuration(0).hazards().look_at_resumption(*job.state->last_step);
  engine.configuration(0).hazards().look_at_loss_scale(job.reader);
  run_steps(job, engine, outputs, result);
  if (outputs.averaged) outputs.averaged->finish(result.complete);
  if (outputs.state) {
    save_state(*outputs.state, result.resolved, job.selection, result.steps.back(), engine.configuration(0));
  }
  summarize(engine.configuration(0), errors, job.hook, static_cast<std::int64_t>(result.steps.size()), result.summary);
}

}  // namespace

ReplayResult run_replay(const ReplaySpec& spec, const ReplayEnvironment& environment) {
  const Clock::time_point start = Clock::now();
  check_spec(spec);
  const compress::HookEntry& hook = compress::hook(spec.hook);
  dump::ReaderOptions reader_options;
  reader_options.memory_limit = spec.memory_limit;
  reader_options.threads = spec.threads;
  dump::Reader reader(spec.files, reader_options);
  std::optional<StateHeader> state;
  if (spec.state_in) state = read_state_header(*spec.state_in);

  ReplayResult result;
  result.resolved = resolve(spec, reader.description(), state);
  const Selection selection = select(reader.description(), result.resolved.spec, hook);
  if (state) check_world_size(spec, *state, selection);
  const MemoryPlan plan = plan_memory({&result.resolved, 1}, selection);
  result.state_bytes = plan.state_bytes;
  result.dump = reader.description();
  result.process_ranks = selection.process_ranks;
  result.parameters = replayed_parameters(result.dump, selection);
  result.numel = selection.layout.numel;
  const Job job{environment, reader, selection, hook, state, plan.steps_in_memory};
  if (result.resolved.dtype == DType::float64) {
    run_in<double>(job, result);
  } else {
    run_in<float>(job, result);
  }
  result.summary.seconds_total = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace psgd::replay
