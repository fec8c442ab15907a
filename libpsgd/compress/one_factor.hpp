#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// How the variants of PowerSGD that send one factor a step differ.
struct OneFactorRules {
  bool begins_with_p = true;  ///< the first compressed step sends P = M·Q for a random Q; else Q = Mᵀ·P for a random P
  Residual residual = Residual::averaged;
  /// The rank at which a matrix is compressed; −1 when it is averaged as it is.
  std::int64_t (*rank)(const TensorSlot& slot, const PowerSGDOptions& options) = nullptr;
};

/// Subspace iteration spread over steps: a step orthonormalizes the factor that it received last and sends the other
/// one,
///
///     P-step: Q ← qr(Q);  P = (1/W)·Σ M_w·Q        Q-step: P ← qr(P);  Q = (1/W)·Σ M_wᵀ·P        output = P·Qᵀ
///
/// half of PowerSGD's work and bytes, and one collective instead of two that depend on each other. Takes the rank, the
/// threshold as `rules.rank` reads it, start_powerSGD_iter (plain averages before it), error feedback and the seed;
/// warm start is what these variants are made of, and orthogonalization is always Householder QR. Tensors that are not
/// compressed are averaged and leave no residual. Linear: in fused arithmetic the one member's memory is the mean over
/// process ranks whichever the residual.
///
/// The factor that the first step needs is drawn by one torch.randn for the matrices of equal shape in a bucket,
/// buckets in ascending order, after torch.manual_seed(random_seed). Both factors are part of `memory`.
template <class T>
std::unique_ptr<Hook<T>> one_factor_power_sgd(const OneFactorRules& rules, const HookOptions& options,
                                              const HookContext<T>& context);

}  // namespace psgd::compress
