#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libpsgd/report/format.hpp"

namespace psgd::report {

/// "1,234,567"
std::string count_text(std::int64_t count);

/// "1 step", "8 steps": the noun's plural by adding an s.
std::string plural(std::int64_t count, std::string_view noun);

/// "364.5 KiB": three or four digits and the largest binary unit that leaves at least 1.
std::string bytes_text(std::uint64_t bytes);

/// A few significant digits and s, ms or µs; "-" when it is not a number.
std::string seconds_text(double seconds);

/// Names and values, one pair a line, values aligned.
using Facts = std::vector<std::pair<std::string, std::string>>;
void write_facts(const Facts& facts, const Sink& sink);

}  // namespace psgd::report
