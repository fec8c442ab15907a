#pragma once

#include "libpsgd/replay/advice.hpp"
#include "libpsgd/report/json.hpp"
#include "libpsgd/report/table.hpp"

namespace psgd::replay {

/// The JSON document of psgd-sweep, schema "psgd-sweep" version 1. Refers to its arguments, which have to outlive it.
report::JsonDocument document(const SweepResult& sweep, const Advice& advice);

/// A row per configuration: its knobs, what it sends, what it loses, what it is predicted to take. Refers to its
/// arguments.
report::Table configuration_table(const SweepResult& sweep, const Advice& advice);

}  // namespace psgd::replay
