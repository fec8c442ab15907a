#include "libpsgd/dump/foreign/npy_header.hpp"

#include <array>
#include <bit>
#include <charconv>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump::foreign {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

/// The value that follows 'key': in the dictionary, up to where it must have ended.
std::string_view value_of(std::string_view dictionary, std::string_view key, const std::string& place) {
  const std::size_t at = dictionary.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) throw Error::input("{}: its header lacks \"{}\"", place, key);
  std::string_view rest = dictionary.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

StoredType parse_type(std::string_view text, const std::string& place) {
  struct Known {
    std::string_view name;
    DType dtype;
  };
  constexpr std::array known{Known{"f2", DType::float16}, Known{"f4", DType::float32}, Known{"f8", DType::float64}};
  const std::size_t end = text.find('\'', 1);
  const std::string_view name = end == std::string_view::npos ? text : text.substr(0, end + 1);
  if (name.size() == 5 && name.front() == '\'') {
    for (const Known& one : known) {
      if (name.substr(2, 2) != one.name) continue;
      const bool big = name[1] == '>';
      if (big || name[1] == '<') return {one.dtype, big == (std::endian::native == std::endian::little)};
    }
  }
  throw Error::input("{}: its type is {}; gradients are float16, float32 or float64 (bfloat16 has no place in .npy)",
                     place, make_printable(std::string(name.substr(0, 40))));
}

Shape parse_shape(std::string_view text, const std::string& place) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) {
    throw Error::input("{}: its header has no shape", place);
  }
  Shape shape;
  const char* at = text.data() + 1;
  const char* const last = text.data() + end;
  while (at != last) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, last, extent);
    if (error != std::errc() || extent < 0) throw Error::input("{}: its shape is not sound", place);
    shape.push_back(extent);
    at = next;
  }
  return shape;
}

}  // namespace

std::optional<std::size_t> npy_header_bytes(std::string_view prefix) {
  if (prefix.size() < npy_prefix_bytes || !prefix.starts_with(magic)) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(prefix[i])); };
  const std::size_t version = byte(6);
  if (version == 1) return 10 + (byte(8) | byte(9) << 8U);
  if (version == 2 || version == 3) return 12 + (byte(8) | byte(9) << 8U | byte(10) << 16U | byte(11) << 24U);
  return std::nullopt;
}

NpyHeader parse_npy_header(std::string_view header, const std::string& place) {
  const std::size_t begin = header.find('{');
  if (begin == std::string_view::npos) throw Error::input("{}: its header is not sound", place);
  const std::string_view dictionary = header.substr(begin);
  NpyHeader result;
  result.bytes = header.size();
  result.stored = parse_type(value_of(dictionary, "descr", place), place);
  if (!value_of(dictionary, "fortran_order", place).starts_with("False")) {
    throw Error::input("{}: it lies column by column; save numpy.ascontiguousarray of it", place);
  }
  result.shape = parse_shape(value_of(dictionary, "shape", place), place);
  return result;
}

}  // namespace psgd::dump::foreign
