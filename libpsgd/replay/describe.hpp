#pragma once

#include <vector>

#include "libpsgd/replay/result.hpp"
#include "libpsgd/replay/selection.hpp"

namespace psgd::replay {

/// The chosen parameters as reports name them, in the dump's order.
std::vector<ReplayedParameter> replayed_parameters(const dump::Description& dump, const Selection& selection);

}  // namespace psgd::replay
