#include "libpsgd/dump/memory_order.hpp"

#include <algorithm>
#include <cstddef>

#include "libpsgd/base/error.hpp"

namespace psgd::dump {
namespace {

// A cache line of floats: a block this wide fills the lines it writes.
constexpr std::int64_t block_channels = 16;

// Visits the elements from `begin` on as runs within one plane, and whole blocks of planes where `count` covers them:
// block(memory offset of the first element, logical offset from begin, planes, elements of each).
template <class Block>
void for_each_block(const MemoryOrder& order, std::int64_t begin, std::int64_t count, Block&& block) {
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t logical = begin + done;
    const std::int64_t position = logical % order.plane;
    const std::int64_t plane = logical / order.plane;
    const std::int64_t channel = plane % order.channels;
    const std::int64_t memory = (plane / order.channels * order.plane + position) * order.channels + channel;
    const std::int64_t left = count - done;
    std::int64_t planes = 1;
    std::int64_t length = std::min(order.plane - position, left);
    if (position == 0 && left >= order.plane) {
      planes = std::min({left / order.plane, order.channels - channel, block_channels});
      length = order.plane;
    }
    block(memory, done, planes, length);
    done += planes * length;
  }
}

}  // namespace

MemoryOrder memory_order(const Shape& shape, MemoryFormat format) {
  if (format == MemoryFormat::contiguous) return {};
  const std::size_t dimensions = format == MemoryFormat::channels_last ? 4 : 5;
  if (shape.size() != dimensions) {
    throw Error::input("{} does not fit the shape {}: it takes {} dimensions", to_string(format), to_string(shape),
                       dimensions);
  }
  MemoryOrder order{shape[1], 1};
  for (std::size_t axis = 2; axis < dimensions; ++axis) order.plane *= shape[axis];
  if (order.channels <= 1 || order.plane <= 1) return {};  // both orders are the same
  return order;
}

template <class T>
void place_in_memory_order(const MemoryOrder& order, const T* logical, std::int64_t begin, std::int64_t count,
                           T* tensor) {
  if (order.is_logical()) {
    std::copy_n(logical, count, tensor + begin);
    return;
  }
  for_each_block(order, begin, count,
                 [&](std::int64_t memory, std::int64_t offset, std::int64_t planes, std::int64_t length) {
                   for (std::int64_t i = 0; i < length; ++i) {
                     T* target = tensor + memory + i * order.channels;
                     const T* source = logical + offset + i;
                     for (std::int64_t p = 0; p < planes; ++p) target[p] = source[p * length];
                   }
                 });
}

template <class T>
void take_from_memory_order(const MemoryOrder& order, const T* tensor, std::int64_t begin, std::int64_t count,
                            T* logical) {
  if (order.is_logical()) {
    std::copy_n(tensor + begin, count, logical);
    return;
  }
  for_each_block(order, begin, count,
                 [&](std::int64_t memory, std::int64_t offset, std::int64_t planes, std::int64_t length) {
                   for (std::int64_t i = 0; i < length; ++i) {
                     const T* source = tensor + memory + i * order.channels;
                     T* target = logical + offset + i;
                     for (std::int64_t p = 0; p < planes; ++p) target[p * length] = source[p];
                   }
                 });
}

// A type cannot stand in parentheses here.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define PSGD_INSTANTIATE(T)                                                                          \
  template void place_in_memory_order(const MemoryOrder&, const T*, std::int64_t, std::int64_t, T*); \
  template void take_from_memory_order(const MemoryOrder&, const T*, std::int64_t, std::int64_t, T*);
PSGD_INSTANTIATE(float)
PSGD_INSTANTIATE(double)
#undef PSGD_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace psgd::dump
