#include "libpsgd/dump/memory_order.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "tests/dump/dump_maker.hpp"

namespace psgd::dump {
namespace {

void expect_round_trip(const Shape& shape, MemoryFormat format, std::int64_t piece) {
  const Parameter tensor = test::parameter("", shape, DType::float64, format);
  const MemoryOrder order = memory_order(shape, format);
  const auto count = numel(shape);
  std::vector<double> logical(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < logical.size(); ++i) logical[i] = static_cast<double>(i);
  std::vector<double> memory(logical.size(), -1);
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    place_in_memory_order(order, logical.data() + begin, begin, std::min(piece, count - begin), memory.data());
  }
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(memory[static_cast<std::size_t>(i)], static_cast<double>(test::logical_index(tensor, i))) << i;
  }
  std::vector<double> back(logical.size(), -1);
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    take_from_memory_order(order, memory.data(), begin, std::min(piece, count - begin), back.data() + begin);
  }
  EXPECT_EQ(back, logical);
}

TEST(MemoryOrder, TurnsLogicalOrderIntoMemoryOrderAndBack) {
  for (const std::int64_t piece : {1, 5, 9, 100, 1000, 100000}) {
    expect_round_trip({3, 40, 3, 3}, MemoryFormat::channels_last, piece);
    expect_round_trip({2, 5, 1, 7}, MemoryFormat::channels_last, piece);
    expect_round_trip({2, 17, 2, 3, 2}, MemoryFormat::channels_last_3d, piece);
    expect_round_trip({2, 3, 4}, MemoryFormat::contiguous, piece);
  }
}

TEST(MemoryOrder, IsLogicalWhereBothAreTheSame) {
  EXPECT_TRUE(memory_order({8, 1, 3, 3}, MemoryFormat::channels_last).is_logical());
  EXPECT_TRUE(memory_order({8, 64, 1, 1}, MemoryFormat::channels_last).is_logical());
  EXPECT_TRUE(memory_order({8, 0, 3, 3}, MemoryFormat::channels_last).is_logical());
  EXPECT_FALSE(memory_order({1, 2, 1, 2}, MemoryFormat::channels_last).is_logical());
}

TEST(MemoryOrder, NeedsTheRightNumberOfDimensions) {
  EXPECT_THROW(memory_order({4, 3}, MemoryFormat::channels_last), Error);
  EXPECT_THROW(memory_order({4, 3, 2, 2, 2}, MemoryFormat::channels_last), Error);
  EXPECT_THROW(memory_order({4, 3, 2, 2}, MemoryFormat::channels_last_3d), Error);
}

}  // namespace
}  // namespace psgd::dump
