#pragma once

#include "libpsgd/replay/advice.hpp"
#include "libpsgd/report/format.hpp"

namespace psgd::tools::sweep {

/// The table of configurations and the advice, for a person.
void write_sweep_text(const psgd::replay::SweepResult& sweep, const psgd::replay::Advice& advice,
                      const report::Sink& sink);

}  // namespace psgd::tools::sweep
