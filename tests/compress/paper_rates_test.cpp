#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "libpsgd/compress/power_sgd.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd::compress {
namespace {

/// ResNet-18 for 32 × 32 images: a 3 × 3 stem, four stages of two basic blocks, batch normalization throughout.
std::vector<Shape> resnet18() {
  std::vector<Shape> shapes;
  const auto convolution = [&](std::int64_t out, std::int64_t in, std::int64_t side) {
    shapes.push_back({out, in, side, side});
    shapes.push_back({out});  // the normalization's weight
    shapes.push_back({out});  // and bias
  };
  convolution(64, 3, 3);
  std::int64_t before = 64;
  for (const std::int64_t planes : {64, 128, 256, 512}) {
    for (int block = 0; block < 2; ++block) {
      convolution(planes, before, 3);
      convolution(planes, planes, 3);
      if (before != planes) convolution(planes, before, 1);
      before = planes;
    }
  }
  shapes.push_back({10, 512});
  shapes.push_back({10});
  return shapes;
}

/// Three LSTM layers of 650 units between an embedding of 28869 tokens and a decoder that shares its weight.
std::vector<Shape> language_model() {
  std::vector<Shape> shapes{{28869, 650}};
  for (int layer = 0; layer < 3; ++layer) {
    shapes.insert(shapes.end(), {{4 * 650, 650}, {4 * 650, 650}, {4 * 650}, {4 * 650}});
  }
  shapes.push_back({28869});
  return shapes;
}

/// Every matrix compressed, no vector, both factors counted: a threshold of 1 does exactly that here.
long rounded_rate(const std::vector<Shape>& shapes, std::int64_t rank) {
  double before = 0;
  double after = 0;
  for (const Shape& shape : shapes) {
    const MatrixExtents extents = matrix_extents(shape);
    const CompressionDecision decision = should_compress(extents.rows, extents.cols, rank, 1);
    EXPECT_EQ(decision.compress, shape.size() > 1);
    before += static_cast<double>(decision.numel_before);
    after += static_cast<double>(decision.numel_after);
  }
  return std::lround(before / after);
}

// Vogels, Karimireddy, Jaggi, PowerSGD, NeurIPS 2019.
TEST(PaperRates, ResNet18OnCifar10) {
  EXPECT_EQ(rounded_rate(resnet18(), 1), 243);
  EXPECT_EQ(rounded_rate(resnet18(), 2), 136);
  EXPECT_EQ(rounded_rate(resnet18(), 4), 72);
  EXPECT_EQ(rounded_rate(resnet18(), 7), 42);
}

TEST(PaperRates, LstmOnWikiText2) {
  EXPECT_EQ(rounded_rate(language_model(), 1), 310);
  EXPECT_EQ(rounded_rate(language_model(), 2), 203);
  EXPECT_EQ(rounded_rate(language_model(), 4), 120);
}

}  // namespace
}  // namespace psgd::compress
