#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libpsgd/replay/result.hpp"
#include "libpsgd/replay/selection.hpp"

namespace psgd::replay {

/// What a replay holds in memory, counted before anything of that size is allocated.
struct MemoryPlan {
  std::uint64_t state_bytes = 0;  ///< error memories, deviations, mean gradient, output
  std::uint64_t step_bytes = 0;   ///< one step's gradients of all process ranks
  std::size_t steps_in_memory = 2;
};

/// For configurations that go through the dump together, and `beside` bytes for what else is done with them. Reads one
/// step ahead if the limit (the first one's) allows it. Throws Error::unavailable with the least that is needed when it
/// does not allow anything.
MemoryPlan plan_memory(std::span<const ResolvedSpec> configurations, const Selection& selection,
                       std::uint64_t beside = 0);

}  // namespace psgd::replay
