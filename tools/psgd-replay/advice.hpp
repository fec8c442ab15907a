#pragma once

#include <string>
#include <vector>

#include "libpsgd/replay/result.hpp"

namespace psgd::tools::replay {

/// What to try next, most useful first, at most a few sentences; each names the option to change.
std::vector<std::string> advise(const psgd::replay::ReplayResult& result);

}  // namespace psgd::tools::replay
