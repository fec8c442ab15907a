#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "libpsgd/backend/backend.hpp"

/// The operations written as their formulas, in long double.
namespace psgd::backend::test {

using Real = long double;

/// A number, and the sum of the sizes of what was added to make it: what its error is measured against.
struct Value {
  Real value = 0;
  Real size = 0;

  void add(Real term) {
    value += term;
    size += std::abs(term);
  }
};

template <class T>
Value sum_of_squares(const std::vector<T>& values) {
  Value sum;
  for (const T value : values) sum.add(static_cast<Real>(value) * static_cast<Real>(value));
  return sum;
}

template <class T>
Value dot(const std::vector<T>& a, const std::vector<T>& b) {
  Value sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum.add(static_cast<Real>(a[i]) * static_cast<Real>(b[i]));
  return sum;
}

/// A·B, row-major, A rows × inner, B inner × cols.
template <class T>
std::vector<Value> product(const std::vector<T>& a, const std::vector<T>& b, std::int64_t rows, std::int64_t inner,
                           std::int64_t cols) {
  std::vector<Value> result(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < inner; ++j) {
      const Real x = a[static_cast<std::size_t>(i * inner + j)];
      for (std::int64_t k = 0; k < cols; ++k) {
        result[static_cast<std::size_t>(i * cols + k)].add(
            x * static_cast<Real>(b[static_cast<std::size_t>(j * cols + k)]));
      }
    }
  }
  return result;
}

template <class T>
std::vector<T> transposed(const std::vector<T>& matrix, std::int64_t rows, std::int64_t cols) {
  std::vector<T> result(matrix.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      result[static_cast<std::size_t>(j * rows + i)] = matrix[static_cast<std::size_t>(i * cols + j)];
    }
  }
  return result;
}

}  // namespace psgd::backend::test
