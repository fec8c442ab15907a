#pragma once

#include "libpsgd/metrics/scaled_matrix.hpp"

namespace psgd::metrics {

/// Singular values, and left singular vectors where wanted.
struct Decomposition {
  std::vector<double> values;  ///< descending
  Columns vectors;             ///< one for each value; empty when not wanted
};

/// All singular values of `columns` as a matrix, which is overwritten; its left singular vectors if `with_vectors`.
/// Throws Error::internal when LAPACK does not converge.
Decomposition decompose(Columns& columns, bool with_vectors);

/// Orthonormalizes the columns by Householder QR; needs size >= count.
void orthonormalize(Columns& columns);

/// All singular values of a matrix with at least one element, and `directions` of its right singular vectors.
template <class T>
Decomposition decompose_exactly(const ScaledMatrix<T>& matrix, std::size_t directions);

}  // namespace psgd::metrics
