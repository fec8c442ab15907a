#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// The k elements of largest magnitude of each tensor, k = max(1, ⌊fraction · n⌋); among equal magnitudes those that
/// come first; NaN counts as the largest. Error feedback with the local residual. Every process rank has its own choice
/// of elements, so needs per-rank arithmetic and an all-gather.
///
/// Bytes of a tensor: k · (size of an element + 4 for its index; 8 in tensors of 2³² elements or more). Source: Stich,
/// Cordonnier, Jaggi, Sparsified SGD with Memory, NeurIPS 2018; per tensor as `TopKReducer` in the paper code of
/// epfml/powersgd. Throws Error::usage when BaselineOptions::fraction is not in (0, 1].
template <class T>
std::unique_ptr<Hook<T>> top_k(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
