#pragma once

#include <nlohmann/json.hpp>

#include "libpsgd/replay/result.hpp"
#include "libpsgd/report/table.hpp"

namespace psgd::replay {

/// The JSON document of psgd-replay, schema "psgd-replay" version 1; numbers that are not finite become null.
nlohmann::ordered_json to_json(const ReplayResult& result);

/// A row per step and parameter, the columns of the JSON's `records` and of the CSV. Refers to `result`.
report::Table record_table(const ReplayResult& result);

/// A row per step and bucket, the JSON's `bucket_records`. Refers to `result`.
report::Table bucket_table(const ReplayResult& result);

}  // namespace psgd::replay
