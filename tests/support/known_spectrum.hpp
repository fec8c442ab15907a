#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace psgd::test {

/// `count` orthonormal vectors of `size` elements, one after the other: Gram–Schmidt, twice, on random numbers.
inline std::vector<double> orthonormal_vectors(std::size_t size, std::size_t count, std::mt19937& engine) {
  std::normal_distribution<double> normal;
  std::vector<double> vectors(size * count);
  for (double& value : vectors) value = normal(engine);
  for (std::size_t i = 0; i < count; ++i) {
    double* const vector = vectors.data() + i * size;
    for (std::size_t pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; ++j) {
        const double* const other = vectors.data() + j * size;
        double dot = 0;
        for (std::size_t k = 0; k < size; ++k) dot += vector[k] * other[k];
        for (std::size_t k = 0; k < size; ++k) vector[k] -= dot * other[k];
      }
      double norm = 0;
      for (std::size_t k = 0; k < size; ++k) norm += vector[k] * vector[k];
      for (std::size_t k = 0; k < size; ++k) vector[k] /= std::sqrt(norm);
    }
  }
  return vectors;
}

/// A rows × cols matrix, row-major, with the given singular values (at most min(rows, cols); the others are 0) and
/// random singular vectors.
inline std::vector<double> matrix_with_spectrum(std::size_t rows, std::size_t cols, const std::vector<double>& values,
                                                std::mt19937& engine) {
  const std::vector<double> left = orthonormal_vectors(rows, values.size(), engine);
  const std::vector<double> right = orthonormal_vectors(cols, values.size(), engine);
  std::vector<double> matrix(rows * cols);
  for (std::size_t k = 0; k < values.size(); ++k) {
    for (std::size_t i = 0; i < rows; ++i) {
      const double factor = values[k] * left[k * rows + i];
      for (std::size_t j = 0; j < cols; ++j) matrix[i * cols + j] += factor * right[k * cols + j];
    }
  }
  return matrix;
}

}  // namespace psgd::test
