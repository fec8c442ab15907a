#include "tools/common/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>

#include <fmt/format.h>

namespace psgd::tools {
namespace {

constexpr std::int64_t largest_integer = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t longest_list = 1'000'000;

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw BadValue(fmt::format(format, std::forward<Args>(args)...));
}

double unit_factor(std::string_view unit) {
  std::string lower(unit);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (lower.empty() || lower == "b") return 1;
  const std::size_t power = std::string_view("kmgt").find(lower[0]);
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = std::string_view(lower).substr(1);
  if (rest.empty() || rest == "i" || rest == "ib") return std::pow(1024.0, static_cast<double>(power + 1));
  return rest == "b" ? std::pow(1000.0, static_cast<double>(power + 1)) : 0;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) fail("'{}' is not an integer", text);
  const bool overflow = error == std::errc::result_out_of_range;
  if (overflow || value < least || value > most) {
    if (most == largest_integer && !overflow) fail("{} is too small, the least is {}", text, least);
    fail("{} is not between {} and {}", text, least, most);
  }
  return value;
}

double parse_number(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail("{} does not fit a 64-bit floating-point number", text);
  if (error != std::errc() || end != text.data() + text.size()) fail("'{}' is not a number", text);
  if (!std::isfinite(value)) fail("{} is not finite", text);
  if (value < least) fail("{} is too small, the least is {}", text, least);
  if (value > most) fail("{} is too large, the most is {}", text, most);
  return value;
}

bool parse_on_off(std::string_view text) {
  if (text == "on") return true;
  if (text != "off") fail("'{}' is neither on nor off", text);
  return false;
}

std::uint64_t parse_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const double factor = unit_factor(text.substr(static_cast<std::size_t>(end - text.data())));
  if (error == std::errc::invalid_argument || factor == 0 || !(std::isfinite(number))) {
    fail("'{}' is not a size in bytes, such as 512MiB, 4G or 1e9", text);
  }
  const double bytes = number * factor;
  // 2^63 and not 2^64: sizes end up in signed offsets.
  if (error != std::errc() || bytes >= 9223372036854775808.0) fail("{} is more bytes than can be counted", text);
  if (bytes < 1) fail("{} is less than a byte", text);
  return static_cast<std::uint64_t>(bytes);
}

std::vector<std::int64_t> parse_integer_list(std::string_view text) {
  std::vector<std::int64_t> list;
  for (const std::string_view item : split(text, ',')) {
    const std::vector<std::string_view> ends = split(item, ':');
    if (ends.size() > 2) fail("'{}' is neither an integer nor FIRST:LAST", item);
    const std::int64_t first = parse_integer(ends.front(), 0, largest_integer);
    const std::int64_t last = parse_integer(ends.back(), 0, largest_integer);
    if (first > last) fail("'{}' ends before it begins", item);
    if (static_cast<std::uint64_t>(last - first) >= longest_list - list.size()) {
      fail("'{}' lists more than {} numbers", text, longest_list);
    }
    for (std::int64_t value = first; value <= last; ++value) list.push_back(value);
  }
  std::set<std::int64_t> seen;
  for (const std::int64_t value : list) {
    if (!seen.insert(value).second) fail("'{}' lists {} twice", text, value);
  }
  return list;
}

std::pair<std::int64_t, std::int64_t> parse_range(std::string_view text) {
  const std::vector<std::string_view> ends = split(text, ':');
  if (ends.size() > 2 || (ends.front().empty() && ends.back().empty())) fail("'{}' is not FIRST:LAST", text);
  const std::int64_t first = ends.front().empty() ? 0 : parse_integer(ends.front(), 0, largest_integer);
  const std::int64_t last = ends.back().empty() ? largest_integer : parse_integer(ends.back(), 0, largest_integer);
  if (first > last) fail("'{}' ends before it begins", text);
  return {first, last};
}

std::vector<std::string> parse_globs(std::string_view text) {
  std::vector<std::string> patterns(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      patterns.emplace_back();
    } else {
      patterns.back() += text[i];
      // The backslash stays: fnmatch takes the escaped character literally.
      if (text[i] == '\\' && i + 1 < text.size()) patterns.back() += text[++i];
    }
  }
  if (std::any_of(patterns.begin(), patterns.end(), [](const std::string& one) { return one.empty(); })) {
    fail("'{}' holds an empty pattern", text);
  }
  return patterns;
}

std::string join_choices(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

std::string parse_choice(std::string_view text, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    fail("'{}' is not {}", text, join_choices(choices));
  }
  return std::string(text);
}

}  // namespace psgd::tools
