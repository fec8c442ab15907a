#pragma once

#include <string>
#include <string_view>

namespace psgd::dump {

/// Whether `text` is UTF-8 without control characters: such a name can stand in JSON, on a terminal and in an error of
/// one line.
bool is_printable(std::string_view text);

/// `text` with '?' for every byte that makes it unprintable.
std::string make_printable(std::string_view text);

}  // namespace psgd::dump
