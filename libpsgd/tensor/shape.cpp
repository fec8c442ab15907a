#include "libpsgd/tensor/shape.hpp"

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"

namespace psgd {

std::int64_t numel(const Shape& shape) {
  constexpr std::int64_t limit = std::int64_t{1} << 60;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw Error::input("a tensor extent is negative: {}", to_string(shape));
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent > limit / product)
      throw Error::input("the extents {} multiply to more than 2^60 elements", to_string(shape));
    product *= extent;
  }
  return product;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

MatrixExtents matrix_extents(const Shape& shape) {
  if (shape.empty()) throw Error::input("a 0-dimensional tensor has no matrix view");
  const std::int64_t rows = shape.front();
  return {rows, rows == 0 ? 0 : numel(shape) / rows};
}

std::string_view to_string(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::channels_last:
      return "channels_last";
    case MemoryFormat::channels_last_3d:
      return "channels_last_3d";
    case MemoryFormat::contiguous:
      break;
  }
  return "contiguous_format";
}

MemoryFormat memory_format_from_string(std::string_view name) {
  if (constexpr std::string_view prefix = "torch."; name.substr(0, prefix.size()) == prefix)
    name.remove_prefix(prefix.size());
  if (name == "contiguous_format" || name == "contiguous") return MemoryFormat::contiguous;
  if (name == "channels_last") return MemoryFormat::channels_last;
  if (name == "channels_last_3d") return MemoryFormat::channels_last_3d;
  throw Error::input("unknown memory format \"{}\" (known: contiguous_format, channels_last, channels_last_3d)", name);
}

}  // namespace psgd
