#pragma once

#include "libpsgd/replay/sweep.hpp"
#include "libpsgd/report/json.hpp"
#include "libpsgd/report/table.hpp"

namespace psgd::replay {

/// What a sweep with a spectrum says beside its rows: `every`, the `steps` analysed, the `ranks`, what words mean
/// (`definitions`), from which step on compression may start, and for each of `parameters` whether it was finite and
/// from which step on compression may start.
report::Json spectrum_json(const SweepResult& sweep);

/// A row per analysed step, parameter and subject: the mean gradient (`of` is "gradient"), or what a configuration was
/// to compress (`of` is its label, or "target" when there is only one). The JSON's `spectrum_records` and the CSV.
/// Refers to its argument, which has a spectrum.
report::Table spectrum_table(const SweepResult& sweep);

}  // namespace psgd::replay
