#pragma once

#include <cstddef>

#include "libpsgd/tensor/dtype.hpp"

namespace psgd::dump {

/// How a number lies in a file.
struct StoredType {
  DType dtype = DType::float32;
  bool swapped = false;  ///< byte order is not this machine's
  bool operator==(const StoredType&) const = default;
};

/// Converts `count` numbers from `source` (aligned to their size) to `out`, T = float or double; the arrays may not
/// overlap.
///
/// Exact except for float64 to float, which rounds to nearest even; subnormals are kept, infinities and NaN stay what
/// they are. SIMD chosen at run time; float16 and bfloat16 convert at about the speed of memory.
template <class T>
void convert(StoredType from, const void* source, std::size_t count, T* out);

/// Undoes HDF5's shuffle filter: byte k of element i lies at `source[k * n + i]`, n = bytes / element_size; what is
/// left over at the end was copied as it is. `source` and `out` hold `bytes` bytes each and may not overlap.
void unshuffle(const std::byte* source, std::size_t element_size, std::size_t bytes, std::byte* out);

}  // namespace psgd::dump
