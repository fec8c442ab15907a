#pragma once

#include "libpsgd/replay/sweep.hpp"
#include "libpsgd/report/format.hpp"

namespace psgd::tools::sweep {

/// Means over the analysed steps, a line a parameter: how low its rank is, how far compression is from the best
/// possible, and from when on it may start. Nothing without a spectrum.
void write_spectrum_text(const psgd::replay::SweepResult& sweep, const report::Sink& sink);

}  // namespace psgd::tools::sweep
