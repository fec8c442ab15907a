#include "libpsgd/replay/memory_plan.hpp"

#include "libpsgd/base/error.hpp"

namespace psgd::replay {
namespace {

/// Threads' stacks, libraries, factors, the reader's staging: what does not grow with the gradients.
constexpr std::uint64_t overhead = std::uint64_t{64} << 20;

std::uint64_t mebibytes(std::uint64_t bytes) { return (bytes + (std::uint64_t{1} << 20) - 1) >> 20; }

}  // namespace

MemoryPlan plan_memory(const ResolvedSpec& resolved, const compress::HookEntry& hook, const Selection& selection) {
  const std::uint64_t model = static_cast<std::uint64_t>(selection.layout.extent) * size_of(resolved.dtype);
  const std::uint64_t ranks = selection.process_ranks.size();
  const bool error_feedback = hook.has_power_sgd_state && resolved.spec.power_sgd.use_error_feedback;
  const bool fused = resolved.arithmetic == Arithmetic::fused;

  std::uint64_t models = 0;
  if (error_feedback) models += fused ? 1 + (ranks > 1 ? ranks : 0) : ranks;
  if (ranks > 1) models += 1;                                // the mean gradient
  if (resolved.spec.output) models += 1;                     // what the hook returns
  if (hook.padding == BucketPadding::square) models += 1;    // the square it is taken from

  MemoryPlan plan;
  plan.state_bytes = models * model;
  plan.step_bytes = ranks * model;
  const std::uint64_t limit = resolved.spec.memory_limit;
  if (limit == 0) return plan;
  const auto needed = [&](std::size_t steps) { return plan.state_bytes + steps * plan.step_bytes + overhead; };
  while (plan.steps_in_memory > 1 && needed(plan.steps_in_memory) > limit) --plan.steps_in_memory;
  if (needed(plan.steps_in_memory) > limit) {
    throw Error::unavailable("--memory-limit {} MiB is too small: this replay needs {} MiB ({} MiB of state, {} MiB for one step's gradients, "
                             "{} MiB besides); raise it, or choose fewer --parameters or --process-ranks",
                             mebibytes(limit), mebibytes(needed(1)), mebibytes(plan.state_bytes), mebibytes(plan.step_bytes),
                             mebibytes(overhead));
  }
  return plan;
}

}  // namespace psgd::replay
