#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// Alternate compressed PowerSGD: one factor a step, P first (see one_factor.hpp), with the local residual M_w − P_w·Qᵀ
/// of what the process rank itself sent, so that nothing has to be done after the all-reduce but the product of the
/// factors.
///
/// Every matrix with more than one row and more than one column is compressed at r = min(rank, n, m); there is no
/// threshold, min_compression_rate has no meaning. (The authors' code also compresses matrices of one column or row,
/// which saves nothing.)
///
/// Bytes of a compressed tensor: n·r or m·r elements, step about. The authors draw both factors unseeded; here the
/// first Q follows from random_seed. Source: Zhang, Zhang, Shi, Chu, Li, Evaluation and Optimization of Gradient
/// Compression for Distributed Deep Learning, ICDCS 2023, and its authors' code.
template <class T>
std::unique_ptr<Hook<T>> acp_sgd(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
