#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// Classical Gram–Schmidt with reorthogonalization ("twice is enough"): for each column a_j, with Q the columns before,
/// twice a_j ← a_j − Q·(Qᵀ·a_j), then a_j ← a_j / (‖a_j‖ + epsilon).
///
/// `factors`: row-major, rows × cols each, rows >= cols, in place. 4·rows·cols² flops and about 2·cols passes over a
/// factor (one when it is in cache). Sums are float64. ‖QᵀQ − I‖ is a small multiple of the unit roundoff u while
/// κ·u < 1; R's diagonal is positive. With epsilon = 0 a zero column becomes NaN; a column that depends on those before
/// leaves rounding noise made orthonormal, or NaN where there is none. Throws Error::input when rows < cols. Source:
/// Giraud, Langou, Rozložník, van den Eshof, Numer. Math. 101 (2005), 87–100.
template <class T>
void cgs2(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
