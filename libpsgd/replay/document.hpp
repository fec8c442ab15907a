#pragma once

#include "libpsgd/replay/result.hpp"
#include "libpsgd/report/json.hpp"
#include "libpsgd/report/table.hpp"

namespace psgd::replay {

/// A replay follows the trajectory that was recorded; every report has to say so.
inline constexpr std::string_view open_loop_notice =
    "Open loop: the gradients come from the trajectory that was recorded, not from one trained with this compression.";

/// The JSON document of psgd-replay, schema "psgd-replay" version 1. Refers to `result`, which has to outlive it.
report::JsonDocument document(const ReplayResult& result);

/// The options with every default filled in, spelled with underscores.
report::Json config_json(const ResolvedSpec& resolved);

/// What was replayed.
report::Json dump_json(const ReplayResult& result);

report::Json summary_json(const Summary& summary);

/// A row per step and parameter: the JSON's `records` and the CSV. Refers to `result`.
report::Table record_table(const ReplayResult& result);

/// A row per step and bucket: the JSON's `bucket_records`. Refers to `result`.
report::Table bucket_table(const ReplayResult& result);

}  // namespace psgd::replay
