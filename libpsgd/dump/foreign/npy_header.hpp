#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "libpsgd/dump/convert.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd::dump::foreign {

/// What stands before the values of a .npy array.
struct NpyHeader {
  StoredType stored;
  Shape shape;
  std::size_t bytes = 0;  ///< of the header itself, where the values begin
};

/// Bytes that tell how long the header is.
inline constexpr std::size_t npy_prefix_bytes = 12;

/// Length of the whole header by its first npy_prefix_bytes; nothing when they are no header's.
std::optional<std::size_t> npy_header_bytes(std::string_view prefix);

/// Reads a whole header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Throws Error::input, beginning
/// with `place`, for what it does not understand, for column-major order and for types that are no floating-point
/// numbers. Source: numpy/lib/format.py.
NpyHeader parse_npy_header(std::string_view header, const std::string& place);

}  // namespace psgd::dump::foreign
