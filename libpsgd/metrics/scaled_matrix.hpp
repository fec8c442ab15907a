#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace psgd::metrics {

/// A row-major matrix times a power of two that brings its largest element near 1, so that squares neither overflow nor
/// vanish.
template <class T>
struct ScaledMatrix {
  const T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double scale = 1;

  [[nodiscard]] double at(std::int64_t row, std::int64_t col) const {
    return scale * static_cast<double>(data[row * cols + col]);
  }
};

/// Vectors of `size` elements, one after the other: a matrix by columns.
struct Columns {
  std::size_t size = 0;
  std::size_t count = 0;
  std::vector<double> data;

  Columns() = default;
  Columns(std::size_t elements, std::size_t vectors) : size(elements), count(vectors), data(elements * vectors) {}

  [[nodiscard]] double* column(std::size_t index) { return data.data() + index * size; }
  [[nodiscard]] const double* column(std::size_t index) const { return data.data() + index * size; }
};

}  // namespace psgd::metrics
