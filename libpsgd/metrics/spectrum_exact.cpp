#include "libpsgd/metrics/spectrum_exact.hpp"

#include <algorithm>
#include <utility>

#include <lapacke.h>

#include "libpsgd/base/error.hpp"

namespace psgd::metrics {
namespace {

lapack_int as_int(std::size_t value) { return static_cast<lapack_int>(value); }

void check(lapack_int status, const char* routine, std::size_t rows, std::size_t cols) {
  if (status != 0) throw Error::internal("{} on a {} x {} matrix returned {}", routine, rows, cols, status);
}

/// The matrix, or its transpose when that is the taller one, by columns.
template <class T>
Columns tall(const ScaledMatrix<T>& matrix) {
  const bool wide = matrix.cols >= matrix.rows;
  const std::int64_t size = wide ? matrix.cols : matrix.rows;
  const std::int64_t count = wide ? matrix.rows : matrix.cols;
  Columns result(static_cast<std::size_t>(size), static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.cols; ++j) {
      result.data[static_cast<std::size_t>(wide ? i * size + j : j * size + i)] = matrix.at(i, j);
    }
  }
  return result;
}

/// R of a QR factorization as geqrf left it, or its transpose.
Columns triangle(const Columns& factored, bool transposed) {
  Columns result(factored.count, factored.count);
  for (std::size_t j = 0; j < factored.count; ++j) {
    for (std::size_t i = 0; i <= j; ++i)
      result.data[transposed ? i * result.size + j : j * result.size + i] = factored.column(j)[i];
  }
  return result;
}

}  // namespace

Decomposition decompose(Columns& columns, bool with_vectors) {
  Decomposition result;
  const std::size_t side = std::min(columns.size, columns.count);
  result.values.resize(side);
  if (with_vectors) result.vectors = Columns(columns.size, side);
  std::vector<double> right(with_vectors ? side * columns.count : 1);
  const lapack_int m = as_int(columns.size);
  const lapack_int n = as_int(columns.count);
  double unused = 0;
  double* const left = with_vectors ? result.vectors.data.data() : &unused;
  const lapack_int right_rows = with_vectors ? as_int(side) : 1;
  check(LAPACKE_dgesdd(LAPACK_COL_MAJOR, with_vectors ? 'S' : 'N', m, n, columns.data.data(), m, result.values.data(),
                       left, m, right.data(), right_rows),
        "dgesdd", columns.size, columns.count);
  return result;
}

void orthonormalize(Columns& columns) {
  const lapack_int m = as_int(columns.size);
  const lapack_int n = as_int(columns.count);
  std::vector<double> tau(columns.count);
  check(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, columns.data.data(), m, tau.data()), "dgeqrf", columns.size,
        columns.count);
  check(LAPACKE_dorgqr(LAPACK_COL_MAJOR, m, n, n, columns.data.data(), m, tau.data()), "dorgqr", columns.size,
        columns.count);
}

template <class T>
Decomposition decompose_exactly(const ScaledMatrix<T>& matrix, std::size_t directions) {
  Columns columns = tall(matrix);
  const lapack_int m = as_int(columns.size);
  const lapack_int n = as_int(columns.count);
  std::vector<double> tau(columns.count);
  check(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, columns.data.data(), m, tau.data()), "dgeqrf", columns.size,
        columns.count);
  const bool wide = matrix.cols >= matrix.rows;
  // A wide M has Mᵀ = Q·R, so its right vectors are Q times R's left ones; a tall M = Q·R has those of R, the left ones
  // of Rᵀ.
  Columns small = triangle(columns, !wide);
  Decomposition result = decompose(small, directions > 0);
  if (directions == 0) return result;
  result.vectors.count = std::min(directions, result.vectors.count);
  result.vectors.data.resize(result.vectors.size * result.vectors.count);
  if (!wide) return result;
  Columns vectors(columns.size, result.vectors.count);
  for (std::size_t k = 0; k < vectors.count; ++k)
    std::copy_n(result.vectors.column(k), result.vectors.size, vectors.column(k));
  check(LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'N', m, as_int(vectors.count), n, columns.data.data(), m, tau.data(),
                       vectors.data.data(), m),
        "dormqr", columns.size, columns.count);
  result.vectors = std::move(vectors);
  return result;
}

template Decomposition decompose_exactly(const ScaledMatrix<float>&, std::size_t);
template Decomposition decompose_exactly(const ScaledMatrix<double>&, std::size_t);

}  // namespace psgd::metrics
