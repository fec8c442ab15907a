#pragma once

#include <functional>

#include "libpsgd/base/log.hpp"
#include "libpsgd/base/progress.hpp"
#include "libpsgd/replay/result.hpp"
#include "libpsgd/replay/spec.hpp"

namespace psgd::replay {

/// What surrounds a replay.
struct ReplayEnvironment {
  LogSink log;
  Progress* progress = nullptr;
  std::function<bool()> stop_requested;  ///< looked at between steps; the step in hand is finished
};

/// Replays gradient compression on a dump and measures it. Writes spec.output and spec.state_out, each under a
/// temporary name until it is whole.
///
/// Throws Error::usage for options that contradict each other, Error::input for a dump or state that cannot be read or
/// does not fit, Error::unavailable for a backend or transport that is not built and for a memory limit that is too
/// small.
ReplayResult run_replay(const ReplaySpec& spec, const ReplayEnvironment& environment = {});

}  // namespace psgd::replay
