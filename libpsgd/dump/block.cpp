#include "libpsgd/dump/block.hpp"

#include <algorithm>
#include <array>

namespace psgd::dump {
namespace {

constexpr std::int64_t elements_at_a_time = 4096;

// Calls run(element of the buffer, element of the tensor, count) for each run that is contiguous in both.
template <class Run>
void for_each_run(const Block& block, const Shape& shape, Run&& run) {
  std::size_t axes = shape.size();
  std::int64_t whole = 1;  // elements of the trailing axes that the block covers entirely
  while (axes > 0 && block.origin[axes - 1] == 0 && block.extents[axes - 1] == shape[axes - 1]) whole *= shape[--axes];
  if (axes == 0) {
    run(std::int64_t{0}, std::int64_t{0}, whole);
    return;
  }
  // The innermost axis of the rest gives the runs; the others are counted through like the digits of a number.
  const auto covered = [&](std::size_t axis) {
    return std::min(block.extents[axis], shape[axis] - block.origin[axis]);
  };
  const std::int64_t length = covered(axes - 1) * whole;
  if (length <= 0) return;
  Shape digits(axes - 1, 0);
  for (;;) {
    std::int64_t in_buffer = 0;
    std::int64_t in_tensor = 0;
    for (std::size_t axis = 0; axis + 1 < axes; ++axis) {
      in_buffer = (in_buffer + digits[axis]) * block.extents[axis + 1];
      in_tensor = (in_tensor + block.origin[axis] + digits[axis]) * shape[axis + 1];
    }
    run(in_buffer * whole, (in_tensor + block.origin[axes - 1]) * whole, length);
    std::size_t axis = axes - 1;
    for (; axis > 0; --axis) {
      if (++digits[axis - 1] < covered(axis - 1)) break;
      digits[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace

std::optional<std::int64_t> contiguous_begin(const Block& block, const Shape& shape) {
  std::optional<std::int64_t> begin;
  for_each_run(block, shape, [&](std::int64_t /*in_buffer*/, std::int64_t in_tensor, std::int64_t count) {
    if (count == numel(block.extents)) begin = in_tensor;
  });
  return begin;
}

template <class T>
void scatter(const Block& block, const std::byte* values, StoredType stored, const Shape& shape,
             const MemoryOrder& order, T* tensor) {
  const std::size_t size = size_of(stored.dtype);
  for_each_run(block, shape, [&](std::int64_t in_buffer, std::int64_t in_tensor, std::int64_t count) {
    const std::byte* source = values + static_cast<std::size_t>(in_buffer) * size;
    if (order.is_logical()) {
      convert(stored, source, static_cast<std::size_t>(count), tensor + in_tensor);
      return;
    }
    std::array<T, elements_at_a_time> logical;
    for (std::int64_t done = 0; done < count; done += elements_at_a_time) {
      const std::int64_t part = std::min(elements_at_a_time, count - done);
      convert(stored, source + static_cast<std::size_t>(done) * size, static_cast<std::size_t>(part), logical.data());
      place_in_memory_order(order, logical.data(), in_tensor + done, part, tensor);
    }
  });
}

template void scatter(const Block&, const std::byte*, StoredType, const Shape&, const MemoryOrder&, float*);
template void scatter(const Block&, const std::byte*, StoredType, const Shape&, const MemoryOrder&, double*);

}  // namespace psgd::dump
