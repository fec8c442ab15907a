#pragma once

#include <span>

#include "libpsgd/backend/backend.hpp"

namespace psgd::orthogonalize {

/// PyTorch's Gram–Schmidt as it runs on a tensor of half precision: the method of gram_schmidt.hpp, its input and the
/// result of every operation rounded to float16 (`half_gram_schmidt`) or bfloat16 (`bfloat16_gram_schmidt`), to the
/// nearest, ties to even. Norms and sums of products are added up wider and rounded once, as torch does; the products
/// that are summed are rounded one by one.
///
/// `factors`: row-major, rows × cols each, in place; they stay in T, holding values of the half type. ‖QᵀQ − I‖ ≈ u·κ
/// with u = 2⁻¹¹ or 2⁻⁸; in float16 norms beyond 65504 are infinite, which makes the column zero, and squares do not
/// overflow since torch adds them up in float32. An emulation, to see what half precision costs in accuracy: its time
/// says nothing about a device with half-precision arithmetic. Source: torch/distributed/algorithms/ddp_comm_hooks/
/// powerSGD_hook.py, `_orthogonalize_gram_schmidt`.
template <class T>
void half_gram_schmidt(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);
template <class T>
void bfloat16_gram_schmidt(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon);

}  // namespace psgd::orthogonalize
