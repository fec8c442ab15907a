#include "libpsgd/tensor/shape.hpp"

#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/tensor/dtype.hpp"

namespace psgd {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(numel({}), 1);
  EXPECT_EQ(numel({3, 4, 5}), 60);
  EXPECT_EQ(numel({3, 0, std::int64_t{1} << 62}), 0);
  EXPECT_EQ(to_string(Shape{3, 4}), "[3, 4]");
}

TEST(Shape, RefusesOverflowAndNegativeExtents) {
  EXPECT_THROW(static_cast<void>(numel({std::int64_t{1} << 40, std::int64_t{1} << 40})), Error);
  EXPECT_THROW(static_cast<void>(numel({3, -1})), Error);
  EXPECT_THROW(static_cast<void>(numel({0, -1})), Error);
}

TEST(MatrixExtents, IsViewOfFirstExtentAndTheRest) {
  EXPECT_EQ(matrix_extents({64, 3, 7, 7}), (MatrixExtents{64, 147}));
  EXPECT_EQ(matrix_extents({10}), (MatrixExtents{10, 1}));
  EXPECT_EQ(matrix_extents({0, 5}), (MatrixExtents{0, 0}));
  EXPECT_EQ(matrix_extents({5, 0}), (MatrixExtents{5, 0}));
  EXPECT_THROW(matrix_extents({}), Error);
}

TEST(MemoryFormat, TakesTorchNames) {
  EXPECT_EQ(memory_format_from_string("torch.channels_last"), MemoryFormat::channels_last);
  EXPECT_EQ(memory_format_from_string("contiguous"), MemoryFormat::contiguous);
  EXPECT_EQ(memory_format_from_string(to_string(MemoryFormat::channels_last_3d)), MemoryFormat::channels_last_3d);
  EXPECT_THROW(memory_format_from_string("sparse"), Error);
}

TEST(DType, RoundTrips) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
  }
  EXPECT_EQ(size_of(DType::bfloat16), 2U);
  EXPECT_THROW(dtype_from_string("int8"), Error);
}

}  // namespace
}  // namespace psgd
