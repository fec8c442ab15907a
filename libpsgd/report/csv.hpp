#pragma once

#include "libpsgd/report/format.hpp"

namespace psgd::report {

/// RFC 4180 with lines ended by a newline alone: a header of column names, then a line a row. Doubles are the shortest
/// text that reads back as the same number, or nan, inf, -inf; booleans true and false; no value is an empty field and
/// an empty string "".
void write_csv(const Table& table, const Sink& sink);

}  // namespace psgd::report
