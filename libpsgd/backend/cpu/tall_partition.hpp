#pragma once

#include <algorithm>
#include <cstddef>

#include "libpsgd/backend/cpu/partition.hpp"

namespace psgd::backend {

/// Rows of a tall factor that one thread takes: worth handing over, whole vectors, and few enough chunks that the small
/// matrix which each leaves behind costs nothing beside them. Depends on the shape alone.
inline std::size_t chunk_rows(std::size_t rows, std::size_t cols) {
  constexpr std::size_t most_chunks = 64;
  constexpr std::size_t whole = 32;
  const std::size_t least = std::max(worthwhile_elements / cols, (rows + most_chunks - 1) / most_chunks);
  return (std::max<std::size_t>(least, 1) + whole - 1) / whole * whole;
}

}  // namespace psgd::backend
