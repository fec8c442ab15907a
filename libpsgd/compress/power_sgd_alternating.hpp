#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// PowerSGD as its authors' package runs it: one factor a step, Q first (see one_factor.hpp), with the averaged
/// residual.
///
/// A tensor is compressed iff n·m / (½·r·(n + m)) > min_compression_rate with r = min(rank, n, m): the rate counts the
/// one factor that a step sends on average, so that the same number compresses more than PyTorch's does. The package
/// takes n, m, … there to be the tensor's own extents, which for convolutions is not the matrix it compresses; here
/// they are the matrix's.
///
/// Bytes of a compressed tensor: m·r or n·r elements, step about; `num_iters_per_step` is 1. With seed 0 and one
/// bucket, its tensors in the package's order of parameters, the random numbers are the package's. Differs in
/// start_powerSGD_iter (the package: 100 steps). Source: epfml/powersgd, powersgd/powersgd.py, classes PowerSGD and
/// BasicPowerSGD.
template <class T>
std::unique_ptr<Hook<T>> power_sgd_alternating(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
