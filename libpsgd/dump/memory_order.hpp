#pragma once

#include <cstdint>

#include "libpsgd/tensor/shape.hpp"

namespace psgd::dump {

/// How the logical elements of a tensor follow one another in memory.
struct MemoryOrder {
  std::int64_t channels = 0;  ///< c of a channels_last tensor; 0: memory order is logical order
  std::int64_t plane = 0;     ///< h·w (d·h·w)

  [[nodiscard]] bool is_logical() const noexcept { return channels == 0; }
};

/// Throws Error::input when `format` does not fit the number of dimensions (4 for channels_last, 5 for
/// channels_last_3d).
MemoryOrder memory_order(const Shape& shape, MemoryFormat format);

/// Puts `count` elements that follow one another logically, the first being the tensor's element `begin`, where they
/// belong in memory order. T = float or double. One read and one write of each element.
template <class T>
void place_in_memory_order(const MemoryOrder& order, const T* logical, std::int64_t begin, std::int64_t count,
                           T* tensor);

/// The inverse: fetches `count` logically consecutive elements, from `begin` on, out of memory order.
template <class T>
void take_from_memory_order(const MemoryOrder& order, const T* tensor, std::int64_t begin, std::int64_t count,
                            T* logical);

}  // namespace psgd::dump
