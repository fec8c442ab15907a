#include "libpsgd/report/quantity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "libpsgd/report/escape.hpp"

namespace psgd::report {

std::string count_text(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t place = digits.size(); place > first + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, units[unit]);
}

std::string seconds_text(double seconds) {
  if (std::isnan(seconds)) return "-";
  if (seconds >= 1 || seconds <= 0) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} µs", 1e6 * seconds);
}

void write_facts(const Facts& facts, const Sink& sink) {
  std::size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, display_width(name));
  for (const auto& [name, value] : facts) {
    sink(name);
    sink(std::string(width - display_width(name) + 2, ' '));
    sink(escape_control(value));
    sink("\n");
  }
}

}  // namespace psgd::report
