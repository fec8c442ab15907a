#pragma once

#include <cstddef>
#include <cstdint>

#include "libpsgd/replay/result.hpp"
#include "libpsgd/replay/selection.hpp"

namespace psgd::replay {

/// What a replay holds in memory, counted before anything of that size is allocated.
struct MemoryPlan {
  std::uint64_t state_bytes = 0;  ///< error memories, deviations, mean gradient, output
  std::uint64_t step_bytes = 0;   ///< one step's gradients of all process ranks
  std::size_t steps_in_memory = 2;
};

/// Reads one step ahead if the limit allows it. Throws Error::unavailable with the least that is needed when it does not allow
/// anything.
MemoryPlan plan_memory(const ResolvedSpec& resolved, const compress::HookEntry& hook, const Selection& selection);

}  // namespace psgd::replay
