#pragma once

#include "libpsgd/compress/registry.hpp"
#include "tools/common/options.hpp"

namespace psgd::tools::replay {

/// Throws Error::usage for an option that was given and means nothing to the hook: those of baselines with a hook that
/// is none of them, and with a baseline those of PowerSGD that it does not know.
void check_baseline_options(const Options& options, const compress::HookEntry& hook);

}  // namespace psgd::tools::replay
