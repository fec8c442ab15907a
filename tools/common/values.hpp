#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the programs share: their options, errors, progress bar and result files.
namespace psgd::tools {

/// A text that is no value of the wanted kind. `what()` says why without naming the option, which the caller knows.
class BadValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The parts between separators, empty ones too; an empty text is one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

/// A decimal integer and nothing else.
std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most);

/// A finite decimal number, with or without an exponent, and nothing else.
double parse_number(std::string_view text, double least, double most = std::numeric_limits<double>::max());

/// "on" or "off".
bool parse_on_off(std::string_view text);

/// Bytes: a number with or without a unit. K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB, TB powers
/// of 1000; B is a byte; upper or lower case. The result is rounded down and at least 1.
std::uint64_t parse_size(std::string_view text);

/// "0,2,5": integers from 0 on, and ranges FIRST:LAST of them, without repetition; in the order given.
std::vector<std::int64_t> parse_integer_list(std::string_view text);

/// "FIRST:LAST", both included; either may be left out, and N alone is N:N.
std::pair<std::int64_t, std::int64_t> parse_range(std::string_view text);

/// Patterns separated by commas; "\," stands for a comma inside a pattern.
std::vector<std::string> parse_globs(std::string_view text);

/// The text if it is one of `choices`.
std::string parse_choice(std::string_view text, const std::vector<std::string>& choices);

/// "a, b or c"
std::string join_choices(const std::vector<std::string>& choices);

}  // namespace psgd::tools
