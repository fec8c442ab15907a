#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// The best approximation of rank r of each member's matrix, by LAPACK's SVD in float64: what PowerSGD comes near to.
/// Tensors are compressed by PowerSGD's rule (should_compress), the others are averaged. Error feedback with the local
/// residual. Singular vectors of the process ranks cannot be summed, so needs per-rank arithmetic and an all-gather.
/// Slow: about 10·n·m·min(n, m) operations a matrix and process rank. The approximation of a matrix that holds NaN or
/// Inf is NaN.
///
/// Bytes of a compressed tensor: (n + m) · r · size of an element, the singular values being part of one factor.
/// Source: Vogels, Karimireddy, Jaggi, PowerSGD, NeurIPS 2019, §4.2 ("best approximation"); `SVDReducer` in the paper
/// code.
template <class T>
std::unique_ptr<Hook<T>> svd(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
