#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/backend/cases.hpp"

/// Tall factors to orthonormalize, and what is left of them, in long double.
namespace psgd::backend::test {

/// A row-major matrix of long double.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<long double> values;

  Matrix(std::int64_t rows_, std::int64_t cols_)
      : rows(rows_), cols(cols_), values(static_cast<std::size_t>(rows_ * cols_)) {}
  template <class T>
  Matrix(std::int64_t rows_, std::int64_t cols_, const std::vector<T>& from)
      : rows(rows_), cols(cols_), values(from.begin(), from.end()) {}

  long double& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * cols + j)]; }
  [[nodiscard]] long double at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * cols + j)];
  }
  template <class T>
  [[nodiscard]] std::vector<T> as() const {
    std::vector<T> result;
    result.reserve(values.size());
    for (const long double value : values) result.push_back(static_cast<T>(value));
    return result;
  }
};

/// AᵀB
inline Matrix transposed_product(const Matrix& a, const Matrix& b) {
  Matrix result(a.cols, b.cols);
  for (std::int64_t k = 0; k < a.rows; ++k) {
    for (std::int64_t i = 0; i < a.cols; ++i) {
      for (std::int64_t j = 0; j < b.cols; ++j) result.at(i, j) += a.at(k, i) * b.at(k, j);
    }
  }
  return result;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.cols; ++k) {
      for (std::int64_t j = 0; j < b.cols; ++j) result.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return result;
}

inline long double norm(const Matrix& a) {
  long double sum = 0;
  for (const long double value : a.values) sum += value * value;
  return std::sqrt(sum);
}

/// ‖QᵀQ − I‖_F
inline double orthogonality_of(const Matrix& q) {
  Matrix gram = transposed_product(q, q);
  for (std::int64_t i = 0; i < q.cols; ++i) gram.at(i, i) -= 1;
  return static_cast<double>(norm(gram));
}

/// ‖A − Q·QᵀA‖_F / ‖A‖_F
inline double span_residual(const Matrix& a, const Matrix& q) {
  Matrix rest = product(q, transposed_product(q, a));
  for (std::size_t i = 0; i < rest.values.size(); ++i) rest.values[i] = a.values[i] - rest.values[i];
  return static_cast<double>(norm(rest) / norm(a));
}

/// Orthonormal columns: Gram–Schmidt, twice, in long double.
inline Matrix orthonormal(Matrix a) {
  for (std::int64_t j = 0; j < a.cols; ++j) {
    for (int time = 0; time < 2; ++time) {
      for (std::int64_t i = 0; i < j; ++i) {
        long double dot = 0;
        for (std::int64_t k = 0; k < a.rows; ++k) dot += a.at(k, i) * a.at(k, j);
        for (std::int64_t k = 0; k < a.rows; ++k) a.at(k, j) -= dot * a.at(k, i);
      }
      long double square = 0;
      for (std::int64_t k = 0; k < a.rows; ++k) square += a.at(k, j) * a.at(k, j);
      for (std::int64_t k = 0; k < a.rows; ++k) a.at(k, j) /= std::sqrt(square);
    }
  }
  return a;
}

inline Matrix random_matrix(std::int64_t rows, std::int64_t cols, Random& random) {
  return {rows, cols, random.uniform<double>(rows * cols)};
}

/// U·diag(σ)·Vᵀ with random U and V, and σ from 1 down to 1/condition in equal ratios.
inline Matrix with_condition(std::int64_t rows, std::int64_t cols, double condition, Random& random) {
  Matrix u = orthonormal(random_matrix(rows, cols, random));
  const Matrix v = orthonormal(random_matrix(cols, cols, random));
  for (std::int64_t j = 0; j < cols; ++j) {
    const long double share = cols > 1 ? static_cast<long double>(j) / static_cast<long double>(cols - 1) : 0;
    for (std::int64_t i = 0; i < rows; ++i) u.at(i, j) *= std::pow(static_cast<long double>(condition), -share);
  }
  return product(u, v);
}

}  // namespace psgd::backend::test
