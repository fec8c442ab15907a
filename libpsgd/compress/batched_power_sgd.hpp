#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// PyTorch's `batched_powerSGD_hook`: every bucket is one square matrix of side ceil(sqrt(length)), the rank is not
/// clipped, and orthogonalization_epsilon, min_compression_rate and batch_tensors_with_same_shape have no effect.
///
/// Source: powerSGD_hook.py, `batched_powerSGD_hook`, as of torch 1.11 (later releases fail on their first compressed
/// iteration). The layout has to be padded with BucketPadding::square. Throws Error::input when a square's side is
/// smaller than the rank.
template <class T>
std::unique_ptr<Hook<T>> batched_power_sgd(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
