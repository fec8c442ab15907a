#pragma once

#include <string>

#include "libpsgd/report/format.hpp"

namespace psgd::report {

/// Columns aligned by spaces under their headings and a rule. Nothing is cut off: names stay whole however long.
/// Doubles follow the column's style, integers are whole, booleans are yes and no, and a missing value is "-".
void write_text(const Table& table, const Sink& sink);

/// One cell as write_text shows it, without padding.
std::string to_text(const Cell& cell, const Column& column);

}  // namespace psgd::report
