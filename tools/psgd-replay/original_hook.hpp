#pragma once

#include "libpsgd/replay/spec.hpp"
#include "tools/common/options.hpp"

namespace psgd::tools::replay {

/// The hook of 2020 takes a rank and a seed. Throws Error::usage for an option that was given and asks for something it
/// does not do; one that asks for just what it does (--warm-start off) is let pass.
void check_original_hook(const Options& options, const psgd::replay::ReplaySpec& spec);

}  // namespace psgd::tools::replay
