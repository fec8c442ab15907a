#pragma once

#include "libpsgd/replay/result.hpp"
#include "libpsgd/report/format.hpp"

namespace psgd::tools::replay {

/// The report for a person: summary, table of parameters, hazards, what to try next.
void write_replay_text(const psgd::replay::ReplayResult& result, const report::Sink& sink);

}  // namespace psgd::tools::replay
