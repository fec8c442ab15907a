#include "libpsgd/dump/block.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "libpsgd/dump/storage.hpp"
#include "tests/dump/dump_maker.hpp"

namespace psgd::dump {
namespace {

// Cuts a tensor whose elements are their own numbers into blocks and puts it together again.
void expect_reassembles(const Shape& shape, const Shape& chunk, MemoryFormat format = MemoryFormat::contiguous) {
  const Parameter tensor = test::parameter("", shape, DType::float32, format);
  std::vector<double> memory(static_cast<std::size_t>(numel(shape)), -1);
  hdf5::for_each_chunk(chunk, Shape(shape.size(), 0), shape, [&](const Shape& origin) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < numel(chunk); ++i) {
      std::int64_t rest = i;
      std::int64_t element = 0;
      std::int64_t stride = 1;
      bool inside = true;
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t at = origin[axis] + rest % chunk[axis];
        rest /= chunk[axis];
        inside = inside && at < shape[axis];
        element += at * stride;
        stride *= shape[axis];
      }
      values.push_back(inside ? static_cast<float>(element) : -7);
    }
    scatter(Block{origin, chunk}, reinterpret_cast<const std::byte*>(values.data()), {DType::float32, false}, shape,
            memory_order(shape, format), memory.data());
    return true;
  });
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], static_cast<double>(test::logical_index(tensor, static_cast<std::int64_t>(i))))
        << to_string(shape) << " in chunks of " << to_string(chunk);
  }
}

TEST(Block, ScattersChunksOfAnyShape) {
  expect_reassembles({}, {});
  expect_reassembles({10}, {10});
  expect_reassembles({10}, {3});
  expect_reassembles({10}, {16});
  expect_reassembles({6, 5}, {6, 5});
  expect_reassembles({6, 5}, {4, 5});
  expect_reassembles({6, 5}, {6, 2});
  expect_reassembles({6, 5}, {4, 3});
  expect_reassembles({6, 5, 4}, {1, 5, 4});
  expect_reassembles({6, 5, 4}, {6, 2, 4});
  expect_reassembles({6, 5, 4}, {5, 4, 3});
  expect_reassembles({6, 5, 4}, {8, 8, 8});
  expect_reassembles({3, 5, 4, 2}, {2, 3, 4, 2}, MemoryFormat::channels_last);
  expect_reassembles({3, 20, 4, 2}, {2, 3, 3, 1}, MemoryFormat::channels_last);
  expect_reassembles({2, 900, 4, 2}, {2, 900, 4, 2}, MemoryFormat::channels_last);
  expect_reassembles({2, 5, 3, 2, 2}, {1, 5, 2, 2, 2}, MemoryFormat::channels_last_3d);
}

TEST(Block, KnowsWhereItLiesInOnePiece) {
  EXPECT_EQ(contiguous_begin({{}, {}}, {}), 0);
  EXPECT_EQ(contiguous_begin({{0, 0}, {6, 5}}, {6, 5}), 0);
  EXPECT_EQ(contiguous_begin({{2, 0}, {2, 5}}, {6, 5}), 10);
  EXPECT_EQ(contiguous_begin({{2, 1}, {1, 3}}, {6, 5}), 11);
  EXPECT_EQ(contiguous_begin({{2, 1}, {2, 3}}, {6, 5}), std::nullopt);
  EXPECT_EQ(contiguous_begin({{4, 0}, {4, 5}}, {6, 5}), std::nullopt);  // padded
  EXPECT_EQ(contiguous_begin({{0}, {16}}, {6}), std::nullopt);
}

TEST(ForEachChunk, VisitsWhatMeetsTheBoxUntilToldToStop) {
  std::vector<Shape> visited;
  hdf5::for_each_chunk({2, 4}, {1, 5}, {5, 9}, [&](const Shape& origin) {
    visited.push_back(origin);
    return true;
  });
  EXPECT_EQ(visited, (std::vector<Shape>{{0, 4}, {0, 8}, {2, 4}, {2, 8}, {4, 4}, {4, 8}}));
  int visits = 0;
  hdf5::for_each_chunk({2, 4}, {1, 5}, {5, 9}, [&](const Shape&) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
  hdf5::for_each_chunk({2, 4}, {1, 5}, {5, 5}, [&](const Shape&) { return ++visits < 0; });
  EXPECT_EQ(visits, 2);
}

}  // namespace
}  // namespace psgd::dump
