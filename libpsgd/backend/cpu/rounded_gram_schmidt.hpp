#pragma once

#include <cmath>
#include <cstddef>

#include "libpsgd/backend/cpu/kernels/kernels.hpp"

namespace psgd::backend {

/// Modified Gram–Schmidt as PyTorch runs it on tensors of half precision: the columns and every result of an operation
/// on them are rounded by Half::round, norms and sums once at their end.
template <class Half, class T>
class RoundedGramSchmidt {
 public:
  explicit RoundedGramSchmidt(const kernels::PackedColumns<T>& columns) : columns_(columns) {}

  void run(float epsilon) {
    for (std::size_t j = 0; j < columns_.cols; ++j) {
      for (std::size_t k = 0; k < columns_.rows; ++k) put(column(j)[k], get(column(j)[k]));
    }
    for (std::size_t i = 0; i < columns_.cols; ++i) {
      normalize(column(i), epsilon);
      for (std::size_t j = i + 1; j < columns_.cols; ++j) subtract_projection(column(i), column(j));
    }
  }

 private:
  [[nodiscard]] T* column(std::size_t j) const { return columns_.data + j * columns_.stride; }
  static float get(T value) { return static_cast<float>(value); }
  static void put(T& to, float value) { to = static_cast<T>(Half::round(value)); }
  static float round_sum(double sum) { return Half::round(static_cast<float>(sum)); }

  void normalize(T* column, float epsilon) const {
    double square = 0;
    for (std::size_t k = 0; k < columns_.rows; ++k) square += static_cast<double>(column[k]) * column[k];
    float norm = round_sum(std::sqrt(square));
    if (epsilon != 0) norm = Half::round(norm + epsilon);
    for (std::size_t k = 0; k < columns_.rows; ++k) put(column[k], get(column[k]) / norm);
  }

  void subtract_projection(const T* column, T* from) const {
    double sum = 0;
    for (std::size_t k = 0; k < columns_.rows; ++k) sum += Half::round(get(column[k]) * get(from[k]));
    const float dot = round_sum(sum);
    for (std::size_t k = 0; k < columns_.rows; ++k) put(from[k], get(from[k]) - Half::round(dot * get(column[k])));
  }

  kernels::PackedColumns<T> columns_;
};

template <class Half, class T>
void rounded_gram_schmidt(const kernels::PackedColumns<T>& columns, float epsilon) {
  RoundedGramSchmidt<Half, T>(columns).run(epsilon);
}

}  // namespace psgd::backend
