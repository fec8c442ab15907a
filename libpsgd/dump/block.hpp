#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "libpsgd/dump/convert.hpp"
#include "libpsgd/dump/memory_order.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd::dump {

/// A box of one tensor's elements in a buffer, row-major: a chunk, or a piece of one.
struct Block {
  Shape origin;   ///< where in the tensor it begins
  Shape extents;  ///< of the buffer; what reaches beyond the tensor is padding
};

/// The tensor's element that a block begins with, if the block has no padding and lies in one piece in the tensor.
std::optional<std::int64_t> contiguous_begin(const Block& block, const Shape& shape);

/// Converts the elements of `block` that belong to a tensor of extents `shape` and puts them where they belong in
/// `tensor`.
///
/// `values`: the buffer, numbers as `stored`. One pass; the longer the runs that the block shares with the tensor, the
/// faster.
template <class T>
void scatter(const Block& block, const std::byte* values, StoredType stored, const Shape& shape,
             const MemoryOrder& order, T* tensor);

}  // namespace psgd::dump
