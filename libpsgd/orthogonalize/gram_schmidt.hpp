#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// Modified Gram–Schmidt, column by column: a_i ← a_i / (‖a_i‖ + epsilon), then a_j ← a_j − ⟨a_i, a_j⟩·a_i for j > i.
///
/// `factors`: row-major, rows × cols each, in place. 2·rows·cols² flops and about 2·cols passes over a factor (one when
/// it is in cache). ‖QᵀQ − I‖ grows with the condition number κ as u·κ, u the unit roundoff: lost at κ ≈ 1/u. With
/// epsilon = 0 a zero column becomes NaN; exactly parallel columns leave rounding noise scaled to length 1, or NaN.
/// Source: torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py, `_orthogonalize`; Björck, BIT 7 (1967), 1–21.
template <class T>
void gram_schmidt(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
