#include "libpsgd/replay/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>

#include "libpsgd/base/error.hpp"
#include "libpsgd/replay/describe.hpp"
#include "libpsgd/replay/resolve.hpp"
#include "libpsgd/replay/sweep_checkpoint.hpp"
#include "libpsgd/replay/sweep_pass.hpp"

namespace psgd::replay {
namespace {

using Clock = std::chrono::steady_clock;

/// Writes the checkpoint whenever it is due.
class Keeper {
 public:
  Keeper(SweepCheckpoint* checkpoint, double seconds) : checkpoint_(checkpoint), seconds_(seconds) {}

  template <class T>
  void after_step(SweepResult& result, SweepPass<T>& pass) {
    if (checkpoint_ == nullptr || std::chrono::duration<double>(Clock::now() - last_).count() < seconds_) return;
    pass.settle();
    checkpoint_->save(result, pass);
    last_ = Clock::now();
  }

  template <class T>
  void at_stop(SweepResult& result, SweepPass<T>& pass) {
    if (checkpoint_ != nullptr && !pass.steps().empty()) checkpoint_->save(result, pass);
  }

  template <class T>
  void begin(SweepPass<T>& pass) {
    if (checkpoint_ != nullptr && checkpoint_->has_pass()) checkpoint_->restore(pass);
  }

  void after_pass(SweepResult& result) {
    if (checkpoint_ != nullptr) checkpoint_->save(result);
  }

 private:
  SweepCheckpoint* checkpoint_;
  double seconds_;
  Clock::time_point last_ = Clock::now();
};

/// Runs one pass, or what is left of it; false when a stop was asked for before its end.
template <class T>
bool run_pass(const Sweep& sweep, const Pass& pass, Keeper& keeper, SweepResult& result) {
  SweepPass<T> running(sweep, pass, result);
  keeper.begin(running);
  sweep.progress.advance(running.steps().size());
  if (!running.run([&] { keeper.after_step(result, running); })) {
    keeper.at_stop(result, running);
    return false;
  }
  running.summarize_into_result();
  return true;
}

/// The matrix ranks that configurations compress to, ascending.
std::vector<std::int64_t> ranks_of(const std::vector<ResolvedSpec>& resolved) {
  std::set<std::int64_t> ranks;
  for (const ResolvedSpec& one : resolved) {
    const compress::HookEntry& hook = compress::hook(one.spec.hook);
    if (hook.has_power_sgd_state || hook.knobs.rank) ranks.insert(one.spec.power_sgd.matrix_approximation_rank);
  }
  return {ranks.begin(), ranks.end()};
}

void check_steps(const SpectrumSpec& spec, std::size_t steps) {
  const auto every = static_cast<std::size_t>(spec.every);
  const std::size_t analysed = (steps + every - 1) / every;
  if (!spec.suggest_start || analysed >= fewest_steps_for_start) return;
  throw Error::input(
      "too few steps to suggest start_powerSGD_iter from: {} of {} would be analysed, and {} are needed; record or "
      "choose "
      "more steps, or analyse more of them with a smaller --spectrum-every",
      analysed, steps, fewest_steps_for_start);
}

/// Passes leave rows one behind the other; reports go step by step.
void sort_rows(SpectrumAnalysis& analysis) {
  const auto key = [](const SpectrumRow& row) {
    return std::make_tuple(row.step, row.parameter, row.configuration ? *row.configuration + 1 : 0);
  };
  std::sort(analysis.rows.begin(), analysis.rows.end(),
            [&](const SpectrumRow& a, const SpectrumRow& b) { return key(a) < key(b); });
}

/// A stop leaves only configurations that went through all steps.
void drop_unfinished(SweepResult& result, const std::vector<std::size_t>& finished) {
  std::vector<ConfigurationResult> kept;
  for (std::size_t i = 0; i < result.configurations.size(); ++i) {
    if (std::find(finished.begin(), finished.end(), i) != finished.end())
      kept.push_back(std::move(result.configurations[i]));
  }
  result.configurations = std::move(kept);
  if (!result.spectrum) return;
  std::erase_if(result.spectrum->rows, [&](const SpectrumRow& row) {
    return row.configuration && std::find(finished.begin(), finished.end(), *row.configuration) == finished.end();
  });
  // Rows name configurations by their place among those that are left; results keep the order of the grid.
  std::vector<std::size_t> order = finished;
  std::sort(order.begin(), order.end());
  for (SpectrumRow& row : result.spectrum->rows) {
    if (!row.configuration) continue;
    const auto at = std::lower_bound(order.begin(), order.end(), *row.configuration);
    row.configuration = static_cast<std::size_t>(at - order.begin());
  }
}

}  // namespace

SweepResult run_sweep(const std::vector<ReplaySpec>& configurations, const ReplayEnvironment& environment,
                      const SweepRequest& request) {
  const Clock::time_point start = Clock::now();
  if (configurations.empty()) throw Error::usage("the grid is empty");
  check_started_alone(request.distribute);
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
  const std::vector<Pass> passes = form_passes(resolved, reader.description(), request);
  const std::vector<std::string> names = labels(configurations);
  for (std::size_t i = 0; i < resolved.size(); ++i) result.configurations.push_back({resolved[i], names[i], {}, {}});
  result.dump = reader.description();
  result.process_ranks = passes.front().selection.process_ranks;
  result.parameters = replayed_parameters(result.dump, passes.front().selection);
  result.numel = passes.front().selection.layout.numel;

  if (request.spectrum.every > 0) {
    check_steps(request.spectrum, passes.front().selection.step_indices.size());
    result.spectrum = SpectrumAnalysis{request.spectrum, ranks_of(resolved), {}, {}};
  }

  std::optional<SweepCheckpoint> checkpoint;
  if (request.resume) {
    checkpoint.emplace(*request.resume, sweep_identity(resolved, passes, result));
    checkpoint->load(result);
  }
  Keeper keeper(checkpoint ? &*checkpoint : nullptr, request.checkpoint_seconds);

  std::size_t steps = 0;
  for (const Pass& pass : passes) steps += pass.selection.step_indices.size();
  Progress& progress = environment.progress != nullptr ? *environment.progress : no_progress();
  const ProgressScope scope(progress, steps, "steps");
  std::vector<std::size_t> finished;
  const std::size_t done_before = result.passes;
  const Sweep sweep{environment, reader, resolved, progress};
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = passes[i];
    result.state_bytes = std::max(result.state_bytes, pass.memory.state_bytes);
    if (i < done_before) {
      progress.advance(pass.selection.step_indices.size());
    } else {
      result.complete = pass.dtype == DType::float64 ? run_pass<double>(sweep, pass, keeper, result)
                                                     : run_pass<float>(sweep, pass, keeper, result);
      if (!result.complete) break;
      ++result.passes;
      keeper.after_pass(result);
    }
    finished.insert(finished.end(), pass.members.begin(), pass.members.end());
  }
  if (!result.complete) drop_unfinished(result, finished);
  if (result.spectrum) {
    sort_rows(*result.spectrum);
    result.starts = suggest_starts(*result.spectrum, result.parameters.size());
  }
  result.seconds_total = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace psgd::replay
