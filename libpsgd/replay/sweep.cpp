#include "libpsgd/replay/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "libpsgd/backend/registry.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/step_stream.hpp"
#include "libpsgd/replay/describe.hpp"
#include "libpsgd/replay/engine.hpp"
#include "libpsgd/replay/memory_plan.hpp"
#include "libpsgd/replay/resolve.hpp"

namespace psgd::replay {
namespace {

using Clock = std::chrono::steady_clock;

/// Configurations that go through the dump together.
struct Pass {
  std::vector<std::size_t> members;  // into the sweep's configurations
  DType dtype = DType::float32;
  BucketPadding padding = BucketPadding::none;
  Selection selection;
  MemoryPlan memory;
};

MemoryPlan plan_pass(const std::vector<ResolvedSpec>& resolved, const std::vector<std::size_t>& members,
                     const Selection& selection) {
  std::vector<ResolvedSpec> together;
  together.reserve(members.size());
  for (const std::size_t member : members) together.push_back(resolved[member]);
  return plan_memory(together, selection);
}

/// Puts every configuration into the first pass it fits: same computing type, same padding, memory for it.
std::vector<Pass> form_passes(const std::vector<ResolvedSpec>& resolved, const dump::Description& dump) {
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    const compress::HookEntry& hook = compress::hook(resolved[i].spec.hook);
    const Selection selection = select(dump, resolved[i].spec, hook);
    bool placed = false;
    for (Pass& pass : passes) {
      if (pass.dtype != resolved[i].dtype || pass.padding != hook.padding) continue;
      std::vector<std::size_t> members = pass.members;
      members.push_back(i);
      try {
        pass.memory = plan_pass(resolved, members, pass.selection);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unavailable) throw;
        continue;
      }
      pass.members = std::move(members);
      placed = true;
      break;
    }
    if (!placed)
      passes.push_back({{i}, resolved[i].dtype, hook.padding, selection, plan_pass(resolved, {i}, selection)});
  }
  return passes;
}

/// What all passes share.
struct Sweep {
  const ReplayEnvironment& environment;
  dump::Reader& reader;
  const std::vector<ResolvedSpec>& resolved;
  Progress& progress;
};

/// Runs one pass; false when a stop was asked for before its end.
template <class T>
bool run_pass(const Sweep& sweep, const Pass& pass, SweepResult& result) {
  const ReplaySpec& common = sweep.resolved.front().spec;
  ThreadPool pool(common.threads);
  const std::unique_ptr<backend::Backend<T>> backend = backend::make_backend<T>(common.backend, pool);
  const Stage<T> stage{backend.get(), &pass.selection, &result.dump, common.transport, sweep.environment.log};
  std::vector<ErrorSummary> errors(pass.members.size());
  std::vector<ConfigurationSpec> specs;
  for (std::size_t i = 0; i < pass.members.size(); ++i) {
    const ResolvedSpec& resolved = sweep.resolved[pass.members[i]];
    const StepSink sink = [&errors, i](std::vector<ParameterRecord>& records, std::vector<BucketRecord>&) {
      errors[i].add_step(records);
    };
    specs.push_back(
        {&compress::hook(resolved.spec.hook), hook_options(resolved.spec), resolved.arithmetic, false, sink});
  }
  Engine<T> engine(stage, specs);
  for (std::size_t i = 0; i < engine.size(); ++i) {
    engine.configuration(i).hazards().look_at_configuration(*specs[i].entry);
    engine.configuration(i).hazards().look_at_loss_scale(sweep.reader);
  }

  dump::StepStream<T> stream(sweep.reader, pass.selection.step_indices, pass.selection.process_ranks,
                             pass.selection.layout, pass.memory.steps_in_memory);
  std::vector<std::int64_t> steps;
  bool complete = true;
  while (true) {
    complete = !(sweep.environment.stop_requested && sweep.environment.stop_requested());
    if (!complete) break;
    const dump::StepData<T>* const data = stream.next();
    if (data == nullptr) break;
    steps.push_back(result.dump.steps[data->step_index]);
    engine.run_step(*data, steps.back());
    sweep.progress.advance(1);
  }
  engine.finish();
  result.seconds_read += stream.seconds_reading();
  for (std::size_t i = 0; i < engine.size(); ++i) {
    ConfigurationResult& configuration = result.configurations[pass.members[i]];
    summarize(engine.configuration(i), errors[i], *specs[i].entry, static_cast<std::int64_t>(steps.size()),
              configuration.summary);
    configuration.parameters = errors[i].parameters();
  }
  if (complete) result.steps = std::move(steps);
  return complete;
}

/// A stop leaves only configurations that went through all steps.
void drop_unfinished(SweepResult& result, const std::vector<std::size_t>& finished) {
  std::vector<ConfigurationResult> kept;
  for (std::size_t i = 0; i < result.configurations.size(); ++i) {
    if (std::find(finished.begin(), finished.end(), i) != finished.end())
      kept.push_back(std::move(result.configurations[i]));
  }
  result.configurations = std::move(kept);
}

}  // namespace

SweepResult run_sweep(const std::vector<ReplaySpec>& configurations, const ReplayEnvironment& environment) {
  const Clock::time_point start = Clock::now();
  if (configurations.empty()) throw Error::usage("the grid is empty");
  for (const ReplaySpec& spec : configurations) check_spec(spec);
  const ReplaySpec& common = configurations.front();
  dump::ReaderOptions reader_options;
  reader_options.memory_limit = common.memory_limit;
  reader_options.threads = common.threads;
  dump::Reader reader(common.files, reader_options);

  SweepResult result;
  std::vector<ResolvedSpec> resolved;
  resolved.reserve(configurations.size());
  for (const ReplaySpec& spec : configurations) resolved.push_back(resolve(spec, reader.description(), std::nullopt));
  const std::vector<Pass> passes = form_passes(resolved, reader.description());
  const std::vector<std::string> names = labels(configurations);
  for (std::size_t i = 0; i < resolved.size(); ++i) result.configurations.push_back({resolved[i], names[i], {}, {}});
  result.dump = reader.description();
  result.process_ranks = passes.front().selection.process_ranks;
  result.parameters = replayed_parameters(result.dump, passes.front().selection);
  result.numel = passes.front().selection.layout.numel;

  std::size_t steps = 0;
  for (const Pass& pass : passes) steps += pass.selection.step_indices.size();
  Progress& progress = environment.progress != nullptr ? *environment.progress : no_progress();
  const ProgressScope scope(progress, steps, "steps");
  std::vector<std::size_t> finished;
  for (const Pass& pass : passes) {
    const Sweep sweep{environment, reader, resolved, progress};
    result.state_bytes = std::max(result.state_bytes, pass.memory.state_bytes);
    result.complete =
        pass.dtype == DType::float64 ? run_pass<double>(sweep, pass, result) : run_pass<float>(sweep, pass, result);
    if (!result.complete) break;
    ++result.passes;
    finished.insert(finished.end(), pass.members.begin(), pass.members.end());
  }
  if (!result.complete) drop_unfinished(result, finished);
  result.seconds_total = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace psgd::replay
