#include "libpsgd/tensor/bucket_layout.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

Parameter make_parameter(const std::string& name, Shape shape, std::int32_t bucket = -1, std::int64_t offset = 0,
                         DType dtype = DType::float32) {
  Parameter parameter;
  parameter.name = name;
  parameter.shape = std::move(shape);
  parameter.dtype = dtype;
  parameter.bucket = bucket;
  parameter.offset = offset;
  return parameter;
}

std::vector<std::size_t> all(const std::vector<Parameter>& parameters) {
  std::vector<std::size_t> indices(parameters.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

TEST(DefaultBuckets, ReverseOrderFirstSmallThenLarge) {
  // Limits of 40 and 100 bytes: 10 and 25 elements of float32.
  std::vector<Parameter> parameters{make_parameter("a", {20}), make_parameter("b", {6}), make_parameter("c", {30}),
                                    make_parameter("d", {4}), make_parameter("e", {7})};
  assign_default_buckets(parameters, 40, 100);
  EXPECT_EQ(parameters[4].bucket, 0);
  EXPECT_EQ(parameters[3].bucket, 0);  // 7 + 4 reach the first limit
  EXPECT_EQ(parameters[2].bucket, 1);  // 30 reach the second at once
  EXPECT_EQ(parameters[1].bucket, 2);
  EXPECT_EQ(parameters[0].bucket, 2);
  EXPECT_EQ(parameters[3].offset, 7);
  EXPECT_EQ(parameters[0].offset, 6);
}

TEST(DefaultBuckets, KeepsElementTypesApart) {
  std::vector<Parameter> parameters{make_parameter("a", {2}), make_parameter("b", {2}, -1, 0, DType::float16),
                                    make_parameter("c", {2})};
  assign_default_buckets(parameters);
  EXPECT_EQ(parameters[2].bucket, 0);
  EXPECT_EQ(parameters[0].bucket, 0);
  EXPECT_EQ(parameters[1].bucket, 1);
}

TEST(SquareSide, IsTheCeilingOfTheRoot) {
  EXPECT_EQ(square_side(0), 0);
  EXPECT_EQ(square_side(1), 1);
  EXPECT_EQ(square_side(2), 2);
  EXPECT_EQ(square_side(4), 2);
  EXPECT_EQ(square_side(5), 3);
  const std::int64_t large = (std::int64_t{1} << 29) - 1;
  EXPECT_EQ(square_side(large * large), large);
  EXPECT_EQ(square_side(large * large + 1), large + 1);
}

TEST(Layout, OrdersByOffsetAndAlignsBuckets) {
  const std::vector<Parameter> parameters{make_parameter("a", {3}, 1, 0), make_parameter("b", {2, 2}, 0, 5),
                                          make_parameter("c", {5}, 0, 0)};
  const GradientLayout layout = layout_gradients(parameters, all(parameters));
  ASSERT_EQ(layout.buckets.size(), 2U);
  EXPECT_EQ(layout.buckets[0].tensors[0].parameter, 2U);
  EXPECT_EQ(layout.buckets[0].tensors[1].begin, 5);
  EXPECT_EQ(layout.buckets[0].tensors[1].rows, 2);
  EXPECT_EQ(layout.buckets[1].begin, 16);
  EXPECT_EQ(layout.numel, 12);
  EXPECT_EQ(layout.extent, 32);
}

TEST(Layout, ClosesTheGapOfWhatIsLeftOut) {
  const std::vector<Parameter> parameters{make_parameter("a", {3}, 0, 0), make_parameter("b", {4}, 0, 3),
                                          make_parameter("c", {5}, 0, 7)};
  const std::vector<std::size_t> chosen{0, 2};
  const GradientLayout layout = layout_gradients(parameters, chosen);
  EXPECT_EQ(layout.buckets[0].length, 8);
  EXPECT_EQ(layout.buckets[0].tensors[1].begin, 3);
}

TEST(Layout, PadsToASquare) {
  const std::vector<Parameter> parameters{make_parameter("a", {10}, 0, 0)};
  const GradientLayout layout = layout_gradients(parameters, all(parameters), BucketPadding::square);
  EXPECT_EQ(layout.buckets[0].length, 10);
  EXPECT_EQ(layout.buckets[0].capacity, 16);
}

TEST(Layout, AcceptsEmptyAndScalarTensors) {
  const std::vector<Parameter> parameters{make_parameter("a", {0, 4}, 0, 3), make_parameter("b", {}, 0, 3),
                                          make_parameter("c", {3}, 0, 0)};
  const GradientLayout layout = layout_gradients(parameters, all(parameters));
  EXPECT_EQ(layout.buckets[0].length, 4);
  EXPECT_EQ(layout.buckets[0].tensors[2].numel, 1);
}

TEST(Layout, RefusesOverlapAndMixedTypes) {
  const std::vector<Parameter> overlapping{make_parameter("a", {3}, 0, 0), make_parameter("b", {4}, 0, 2)};
  EXPECT_THROW(layout_gradients(overlapping, all(overlapping)), Error);
  const std::vector<Parameter> mixed{make_parameter("a", {3}, 0, 0), make_parameter("b", {4}, 0, 3, DType::float64)};
  EXPECT_THROW(layout_gradients(mixed, all(mixed)), Error);
}

}  // namespace
}  // namespace psgd
