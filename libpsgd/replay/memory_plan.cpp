#include "libpsgd/replay/memory_plan.hpp"

#include <set>

#include "libpsgd/base/error.hpp"

namespace psgd::replay {
namespace {

/// Threads' stacks, libraries, factors, the reader's staging: what does not grow with the gradients.
constexpr std::uint64_t overhead = std::uint64_t{64} << 20;

std::uint64_t mebibytes(std::uint64_t bytes) { return (bytes + (std::uint64_t{1} << 20) - 1) >> 20; }

/// Model-sized arrays that one configuration keeps for itself.
std::uint64_t models_of(const ResolvedSpec& resolved, std::uint64_t ranks) {
  const compress::HookEntry& hook = compress::hook(resolved.spec.hook);
  std::uint64_t models = 0;
  if (hook.keeps_errors && resolved.spec.power_sgd.use_error_feedback)
    models += resolved.arithmetic == Arithmetic::fused ? 1 : ranks;
  if (resolved.spec.output) models += 1;                   // what the hook returns
  if (hook.padding == BucketPadding::square) models += 1;  // the square it is taken from
  return models;
}

/// Starts of fused configurations with error feedback: each keeps a set of deviations.
std::size_t distinct_starts(std::span<const ResolvedSpec> configurations) {
  std::set<std::int64_t> starts;
  for (const ResolvedSpec& resolved : configurations) {
    const compress::PowerSGDOptions& options = resolved.spec.power_sgd;
    const bool feeds_back = compress::hook(resolved.spec.hook).keeps_errors && options.use_error_feedback;
    if (resolved.arithmetic == Arithmetic::fused && feeds_back) starts.insert(options.start_powerSGD_iter);
  }
  return starts.size();
}

}  // namespace

MemoryPlan plan_memory(std::span<const ResolvedSpec> configurations, const Selection& selection, std::uint64_t beside) {
  const std::uint64_t model =
      static_cast<std::uint64_t>(selection.layout.extent) * size_of(configurations.front().dtype);
  const std::uint64_t ranks = selection.process_ranks.size();
  std::uint64_t models = 0;
  for (const ResolvedSpec& resolved : configurations) models += models_of(resolved, ranks);
  if (ranks > 1) models += 1 + ranks * distinct_starts(configurations);  // the mean gradient, the deviations

  MemoryPlan plan;
  plan.state_bytes = models * model + beside;
  plan.step_bytes = ranks * model;
  const std::uint64_t limit = configurations.front().spec.memory_limit;
  if (limit == 0) return plan;
  const auto needed = [&](std::size_t steps) { return plan.state_bytes + steps * plan.step_bytes + overhead; };
  while (plan.steps_in_memory > 1 && needed(plan.steps_in_memory) > limit) --plan.steps_in_memory;
  if (needed(plan.steps_in_memory) > limit) {
    throw Error::unavailable(
        "--memory-limit {} MiB is too small: this needs {} MiB ({} MiB of state, {} MiB for one step's gradients, "
        "{} MiB besides); raise it, or choose fewer --parameters or --process-ranks",
        mebibytes(limit), mebibytes(needed(1)), mebibytes(plan.state_bytes), mebibytes(plan.step_bytes),
        mebibytes(overhead));
  }
  return plan;
}

}  // namespace psgd::replay
