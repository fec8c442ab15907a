#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// Cholesky QR, three times, the first of AᵀA + s·I so that it cannot fail where A is nearly singular.
///
/// s = 11·(m·n + n·(n + 1))·v·‖A‖_F² for m × n factors, v = 2⁻⁵³, AᵀA, R and the substitutions being float64. (The
/// source takes ‖A‖₂², which is at most n times smaller.)
///
/// `factors`: row-major, rows × cols each, rows >= cols, in place. 6·rows·cols² flops, 4 reads and 3 writes of a
/// factor. ‖QᵀQ − I‖ is a small multiple of the unit roundoff while κ < 1/(100·v·√(m·n·n)) or so, 10¹¹ for a 10⁶ × 8
/// factor. R's diagonal is positive, so that Q's signs are Gram–Schmidt's, not LAPACK's. Where a later Cholesky factor
/// does not exist (exactly dependent or zero columns, values that are not finite) Householder QR answers. `epsilon` is
/// not used. Throws Error::input when rows < cols. Source: Fukaya, Kannan, Nakatsukasa, Yamamoto, Yanagisawa, SIAM J.
/// Sci. Comput. 42(1), 2020, A477–A503.
template <class T>
void shifted_cholesky_qr3(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
