#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// Cholesky QR, twice: AᵀA = R₁ᵀR₁, Q₁ = A·R₁⁻¹; Q₁ᵀQ₁ = R₂ᵀR₂, Q = Q₁·R₂⁻¹.
///
/// `factors`: row-major, rows × cols each, rows >= cols, in place. 4·rows·cols² flops, 3 reads and 2 writes of a
/// factor: Q₁ᵀQ₁ is summed while Q₁ is written. AᵀA, R and the substitutions are float64 (unit roundoff v = 2⁻⁵³).
/// While κ < 1/√v ≈ 10⁸, ‖QᵀQ − I‖ is a small multiple of the unit roundoff, in float32 and float64. R's diagonal is
/// positive, so that Q's signs are Gram–Schmidt's, not LAPACK's. Where there is no Cholesky factor (dependent or zero
/// columns, larger κ, values that are not finite) Householder QR answers. `epsilon` is not used. Throws Error::input
/// when rows < cols. Source: Yamamoto, Nakatsukasa, Yanagisawa, Fukaya, ETNA 44 (2015), 306–326; the Gram matrix in
/// twice the precision: Yamazaki, Tomov, Dongarra, SIAM J. Sci. Comput. 37(3), 2015, C307–C330.
template <class T>
void cholesky_qr2(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
