#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "libpsgd/synth/models.hpp"

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

inline Model model_of(std::string_view name, std::string_view known, int copies) {
  Model model{name, {}};
  for (int copy = 0; copy < copies; ++copy) {
    for (const synth::NamedShape& parameter : synth::model_parameters(known)) {
      if (parameter.shape.size() < 2) continue;
      const MatrixExtents matrix = matrix_extents(parameter.shape);
      model.matrices.push_back({matrix.rows, matrix.cols});
    }
  }
  return model;
}

/// Four transformer blocks of GPT-2 small: 28.3 million elements.
inline Model gpt2_small() { return model_of("gpt2", "gpt2-block", 4); }

/// 25.5 million elements in 54 matrices, most of them small.
inline Model resnet50() { return model_of("resnet50", "resnet50", 1); }

/// The PowerSGD paper's language model: 28.9 million elements, most of them in the embedding.
inline Model lstm() { return model_of("lstm", "lstm", 1); }

}  // namespace psgd::bench
