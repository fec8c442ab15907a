#pragma once

#include "libpsgd/replay/ortho_advice.hpp"
#include "libpsgd/report/json.hpp"
#include "libpsgd/report/table.hpp"

namespace psgd::replay {

/// The JSON document of psgd-ortho, schema "psgd-ortho" version 1. Refers to its arguments, which have to outlive it.
report::JsonDocument document(const OrthoResult& result, const OrthoAdvice& advice);

/// A row per method, shape, type and input: the JSON's `records` and the CSV. Refers to `result`.
report::Table ortho_table(const OrthoResult& result);

}  // namespace psgd::replay
