#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// Tall-skinny QR: Householder QR of panels of rows, of their R's stacked, and so on up a tree; then Q down the tree.
///
/// `factors`: row-major, rows × cols each, rows >= cols, in place. About 6·rows·cols² flops, 4·rows·cols² by LAPACK on
/// panels that lie in a cache and 2·rows·cols² to multiply them; 2 reads and 2 writes of a factor. ‖QᵀQ − I‖ is a small
/// multiple of the unit roundoff whatever the condition number, as Householder's, and a zero column becomes a unit
/// column; it spreads over threads where Householder QR of one factor does not. Signs are those which LAPACK leaves in
/// the tree's uppermost QR, not those of one flat QR. A value which is not finite makes its factor NaN. `epsilon` is
/// not used. Throws Error::input when rows < cols. Source: Demmel, Grigori, Hoemmen, Langou, SIAM J. Sci. Comput.
/// 34(1), 2012, A206–A239.
template <class T>
void tsqr(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
