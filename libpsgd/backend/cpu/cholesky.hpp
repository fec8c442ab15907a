#pragma once

#include <cstddef>

namespace psgd::backend {

/// G ← R, upper triangular with a positive diagonal and RᵀR = G + shift·I, in place; zeros below the diagonal.
///
/// `gram`: row-major, n × n, of which the upper triangle is read. Where a pivot is no larger than what rounding leaves
/// of its diagonal entry (n·2⁻⁵² of it), or not a normal number, G has no Cholesky factor in float64: then all entries
/// become NaN. n³/3 flops. Source: Golub & Van Loan, Matrix Computations, 4th ed., §4.2.
void cholesky(double* gram, std::size_t n, double shift);

/// inverse ← R⁻¹ of an upper triangular R, row-major, n × n, zeros below the diagonal. n³/3 flops.
void invert_upper(const double* upper, std::size_t n, double* inverse);

}  // namespace psgd::backend
