#include "libpsgd/backend/cpu/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psgd::backend {
namespace {

constexpr double roundoff = std::numeric_limits<double>::epsilon();

/// Below this a square has lost digits to underflow.
constexpr double least_pivot = std::numeric_limits<double>::min() / roundoff;

/// Row `row` of R, from the rows of R above it; false when there is none.
bool factor_row(double* gram, std::size_t n, std::size_t row, double shift) {
  double* const to = gram + row * n;
  to[row] += shift;
  const double diagonal = to[row];
  for (std::size_t k = 0; k < row; ++k) {
    const double* const above = gram + k * n;
    for (std::size_t j = row; j < n; ++j) to[j] -= above[row] * above[j];
  }
  const double pivot = to[row];
  const double noise = static_cast<double>(n) * roundoff * diagonal;
  if (!(pivot > noise && pivot >= least_pivot && std::isfinite(pivot))) return false;
  const double root = std::sqrt(pivot);
  to[row] = root;
  for (std::size_t j = row + 1; j < n; ++j) to[j] /= root;
  std::fill_n(to, row, 0.0);
  return true;
}

}  // namespace

void cholesky(double* gram, std::size_t n, double shift) {
  for (std::size_t row = 0; row < n; ++row) {
    if (factor_row(gram, n, row, shift)) continue;
    std::fill_n(gram, n * n, std::numeric_limits<double>::quiet_NaN());
    return;
  }
}

void invert_upper(const double* upper, std::size_t n, double* inverse) {
  // From the last row up: row i is (e_i − Σ r_ik · row k) / r_ii.
  for (std::size_t row = n; row-- > 0;) {
    double* const to = inverse + row * n;
    std::fill_n(to, n, 0.0);
    to[row] = 1;
    for (std::size_t k = row + 1; k < n; ++k) {
      const double factor = upper[row * n + k];
      for (std::size_t j = k; j < n; ++j) to[j] -= factor * inverse[k * n + j];
    }
    for (std::size_t j = row; j < n; ++j) to[j] /= upper[row * n + row];
  }
}

}  // namespace psgd::backend
