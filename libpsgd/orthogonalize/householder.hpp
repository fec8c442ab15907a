#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// Householder QR: A = Q·R, reduced, with the signs LAPACK leaves (geqrf + orgqr, as torch.linalg.qr); no sign is
/// changed after.
///
/// `factors`: row-major, rows × cols each, rows >= cols, in place. About 4·rows·cols² flops and 2·cols passes over a
/// factor. ‖QᵀQ − I‖ is a small multiple of the unit roundoff whatever the condition number; a zero column becomes a
/// unit column, and a value which is not finite makes its factor NaN. `epsilon` is not used. Throws Error::input when
/// rows < cols. Source: Golub & Van Loan, Matrix Computations, 4th ed., §5.2.
template <class T>
void householder(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
