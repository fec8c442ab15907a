#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

/// The matrices of well-known models, as PowerSGD sees their gradients: rows × (numel / rows).
namespace psgd::bench {

struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

struct Model {
  std::string_view name;
  std::vector<MatrixShape> matrices;

  [[nodiscard]] std::int64_t numel() const {
    std::int64_t sum = 0;
    for (const MatrixShape& shape : matrices) sum += shape.rows * shape.cols;
    return sum;
  }
};

/// Four transformer blocks of GPT-2 small (12 layers, width 768): 28.3 million elements.
inline Model gpt2_small() {
  Model model{"gpt2", {}};
  for (int block = 0; block < 4; ++block) {
    for (const MatrixShape& shape : {MatrixShape{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}}) {
      model.matrices.push_back(shape);
    }
  }
  return model;
}

/// Every convolution of ResNet-50 and its last layer: 25.5 million elements in 54 matrices, most of them small.
inline Model resnet50() {
  Model model{"resnet50", {{64, 147}, {1000, 2048}}};
  std::int64_t in = 64;
  const std::int64_t widths[] = {64, 128, 256, 512};
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = widths[stage];
    model.matrices.push_back({4 * width, in});
    for (int block = 0; block < blocks[stage]; ++block) {
      model.matrices.push_back({width, in});
      model.matrices.push_back({width, 9 * width});
      model.matrices.push_back({4 * width, width});
      in = 4 * width;
    }
  }
  return model;
}

/// The paper's language model: three LSTM layers of 650 units and an embedding of 28869 tokens, 28.9 million elements.
inline Model lstm() {
  Model model{"lstm", {{28869, 650}}};
  for (int layer = 0; layer < 3; ++layer) {
    model.matrices.push_back({2600, 650});
    model.matrices.push_back({2600, 650});
  }
  return model;
}

}  // namespace psgd::bench
