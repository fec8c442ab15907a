#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace psgd::report {

/// The text with control characters and bytes that are not UTF-8 as \n, \t, \x1b and so on, so that it stays one line
/// and does nothing to a terminal whatever a file contained. A backslash stays as it is.
std::string escape_control(std::string_view text);

/// Columns that UTF-8 text takes on a terminal, counting one for each code point.
std::size_t display_width(std::string_view text);

}  // namespace psgd::report
