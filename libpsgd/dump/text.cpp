#include "libpsgd/dump/text.hpp"

#include <cstddef>
#include <cstdint>

namespace psgd::dump {
namespace {

// Length of the printable character that `text` begins with; 0 when it begins with none.
std::size_t printable_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  std::size_t length = 0;
  std::uint32_t smallest = 0;
  std::uint32_t code = 0;
  if ((first & 0xE0U) == 0xC0) {
    length = 2, smallest = 0x80, code = first & 0x1FU;
  } else if ((first & 0xF0U) == 0xE0) {
    length = 3, smallest = 0x800, code = first & 0x0FU;
  } else if ((first & 0xF8U) == 0xF0) {
    length = 4, smallest = 0x10000, code = first & 0x07U;
  }
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool control = code >= 0x80 && code < 0xA0;
  const bool line_end = code == 0x2028 || code == 0x2029;
  return code >= smallest && code <= 0x10FFFF && !surrogate && !control && !line_end ? length : 0;
}

}  // namespace

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = printable_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string make_printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = printable_character(text);
    result += length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace psgd::dump
