#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// Cholesky QR: AᵀA = RᵀR, Q = A·R⁻¹, once.
///
/// `factors`: row-major, rows × cols each, rows >= cols, in place. 2·rows·cols² flops, 2 reads and 1 write of a factor.
/// AᵀA, R and the substitution are float64 (unit roundoff v = 2⁻⁵³), so that with u the roundoff of T
/// ‖QᵀQ − I‖ ≈ u + v·κ²: 10⁻⁶ at κ = 10⁵ in float32, lost at 10⁸. R's diagonal is positive, so that Q's signs are
/// Gram–Schmidt's, not LAPACK's. Where there is no Cholesky factor (dependent or zero columns, κ beyond 10⁷ to 10⁸,
/// values that are not finite) Householder QR answers. `epsilon` is not used. Throws Error::input when rows < cols.
/// Source: Stathopoulos, Wu, SIAM J. Sci. Comput. 23(6), 2002, 2165–2182.
template <class T>
void cholesky_qr(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
