#pragma once

#include <optional>

#include "libpsgd/compress/registry.hpp"
#include "libpsgd/dump/description.hpp"
#include "libpsgd/replay/result.hpp"
#include "libpsgd/replay/selection.hpp"
#include "libpsgd/replay/state_file.hpp"

namespace psgd::replay {

/// Contradictions that need no file to be seen. Throws Error::usage.
void check_spec(const ReplaySpec& spec);

/// Fills in what the dump and a loaded state decide. Throws Error::input saying what differs when the state does not
/// fit.
ResolvedSpec resolve(const ReplaySpec& spec, const dump::Description& dump, const std::optional<StateHeader>& state);

/// What the hook is given of a resolved spec.
compress::HookOptions hook_options(const ReplaySpec& spec);

/// Throws Error::input when the state belongs to another number of process ranks.
void check_world_size(const ReplaySpec& spec, const StateHeader& state, const Selection& selection);

}  // namespace psgd::replay
