#include "libpsgd/backend/cpu/factorize.hpp"

#include <cmath>
#include <vector>

#include <lapacke.h>

#include "libpsgd/base/error.hpp"

namespace psgd::backend::factorize {
namespace {

lapack_int geqrf(lapack_int m, lapack_int n, float* a, float* tau) {
  return LAPACKE_sgeqrf(LAPACK_COL_MAJOR, m, n, a, m, tau);
}
lapack_int geqrf(lapack_int m, lapack_int n, double* a, double* tau) {
  return LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, a, m, tau);
}
lapack_int orgqr(lapack_int m, lapack_int n, float* a, const float* tau) {
  return LAPACKE_sorgqr(LAPACK_COL_MAJOR, m, n, n, a, m, tau);
}
lapack_int orgqr(lapack_int m, lapack_int n, double* a, const double* tau) {
  return LAPACKE_dorgqr(LAPACK_COL_MAJOR, m, n, n, a, m, tau);
}

}  // namespace

template <class T>
void gram_schmidt(const Factor<T>& factor, double epsilon) {
  const std::int64_t r = factor.cols;
  for (std::int64_t i = 0; i < r; ++i) {
    double norm_sq = 0;
    for (std::int64_t k = 0; k < factor.rows; ++k) {
      const double value = static_cast<double>(factor.data[k * r + i]);
      norm_sq += value * value;
    }
    const T norm = static_cast<T>(std::sqrt(norm_sq)) + static_cast<T>(epsilon);
    for (std::int64_t k = 0; k < factor.rows; ++k) factor.data[k * r + i] /= norm;
    for (std::int64_t j = i + 1; j < r; ++j) {
      double dot = 0;
      for (std::int64_t k = 0; k < factor.rows; ++k)
        dot += static_cast<double>(factor.data[k * r + i]) * static_cast<double>(factor.data[k * r + j]);
      for (std::int64_t k = 0; k < factor.rows; ++k)
        factor.data[k * r + j] -= static_cast<T>(dot) * factor.data[k * r + i];
    }
  }
}

template <class T>
void householder(const Factor<T>& factor) {
  const auto rows = static_cast<lapack_int>(factor.rows);
  const auto cols = static_cast<lapack_int>(factor.cols);
  const auto m = static_cast<std::size_t>(factor.rows);
  const auto n = static_cast<std::size_t>(factor.cols);
  std::vector<T> columns(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) columns[j * m + i] = factor.data[i * n + j];
  }
  std::vector<T> tau(n);
  // LAPACKE refuses NaN by a negative status before it computes; NaN is data here and has to come out as NaN.
  if (geqrf(rows, cols, columns.data(), tau.data()) != 0 || orgqr(rows, cols, columns.data(), tau.data()) != 0) {
    std::fill(columns.begin(), columns.end(), std::numeric_limits<T>::quiet_NaN());
  }
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) factor.data[i * n + j] = columns[j * m + i];
  }
}

template <class T>
void gram(const Factor<T>& factor, double* gram) {
  const std::int64_t r = factor.cols;
  std::fill(gram, gram + r * r, 0.0);
  for (std::int64_t k = 0; k < factor.rows; ++k) {
    const T* row = factor.data + k * r;
    for (std::int64_t i = 0; i < r; ++i) {
      for (std::int64_t j = 0; j < r; ++j) gram[i * r + j] += static_cast<double>(row[i]) * static_cast<double>(row[j]);
    }
  }
}

#define PSGD_INSTANTIATE(T)                             \
  template void gram_schmidt(const Factor<T>&, double); \
  template void householder(const Factor<T>&);          \
  template void gram(const Factor<T>&, double*);
PSGD_INSTANTIATE(float)
PSGD_INSTANTIATE(double)
#undef PSGD_INSTANTIATE

}  // namespace psgd::backend::factorize
