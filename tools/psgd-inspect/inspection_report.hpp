#pragma once

#include "libpsgd/report/format.hpp"
#include "libpsgd/report/json.hpp"
#include "tools/psgd-inspect/inspection.hpp"

/// An Inspection as text, JSON and CSV.
namespace psgd::tools::inspect {

/// A row per parameter: the CSV, and the JSON's columns and records.
report::Table parameter_table(const Inspection& inspection);

/// A row per matrix approximation rank.
report::Table rank_table(const Inspection& inspection);

/// A row per bucket.
report::Table bucket_table(const Inspection& inspection);

void write_inspection_json(const Inspection& inspection, const report::Json& config, const report::Sink& sink);

void write_inspection_text(const Inspection& inspection, const report::Sink& sink);

}  // namespace psgd::tools::inspect
