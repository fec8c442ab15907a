#include "libpsgd/metrics/orthogonality.hpp"

#include <algorithm>
#include <cmath>

namespace psgd::metrics {

double orthogonality(const double* gram, std::int64_t cols) {
  double sum = 0;
  for (std::int64_t i = 0; i < cols; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      const double rest = gram[i * cols + j] - (i == j ? 1.0 : 0.0);
      sum += rest * rest;
    }
  }
  return std::sqrt(sum);
}

std::optional<std::int64_t> zero_column(const double* gram, std::int64_t cols) {
  for (std::int64_t i = 0; i < cols; ++i) {
    if (gram[i * cols + i] == 0) return i;
  }
  return std::nullopt;
}

std::optional<std::pair<std::int64_t, std::int64_t>> parallel_columns(const double* gram, std::int64_t cols,
                                                                      double tolerance) {
  const double sine = std::max(tolerance, 1e-7);
  for (std::int64_t i = 0; i < cols; ++i) {
    for (std::int64_t j = i + 1; j < cols; ++j) {
      const double norms = gram[i * cols + i] * gram[j * cols + j];
      const double dot = gram[i * cols + j];
      if (norms > 0 && 1 - dot * dot / norms <= sine * sine) return std::pair(i, j);
    }
  }
  return std::nullopt;
}

}  // namespace psgd::metrics
