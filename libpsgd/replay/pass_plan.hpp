#pragma once

#include <vector>

#include "libpsgd/replay/memory_plan.hpp"
#include "libpsgd/replay/selection.hpp"
#include "libpsgd/replay/sweep.hpp"

namespace psgd::replay {

/// Configurations that go through the dump together.
struct Pass {
  std::vector<std::size_t> members;  ///< into the sweep's configurations
  DType dtype = DType::float32;
  BucketPadding padding = BucketPadding::none;
  Selection selection;
  MemoryPlan memory;
};

/// Puts every configuration into the first pass it fits: same computing type, same padding, memory for it. Throws
/// Error::unavailable when one does not even fit alone.
std::vector<Pass> form_passes(const std::vector<ResolvedSpec>& resolved, const dump::Description& dump,
                              const SweepRequest& request);

}  // namespace psgd::replay
