#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// k random elements of each tensor, k = max(1, ⌊fraction · n⌋), without replacement; the process ranks share a seed
/// and so choose the same elements. Linear, and summed on the way.
///
/// With error feedback the elements are sent as they are, and what is not sent stays in the memory; without it they are
/// scaled by n/k, so that the output is unbiased.
///
/// Bytes of a tensor: k · size of an element. Indices are not sent: they follow from the seed, one
/// `RandomState(random_seed).randint(10⁹)` a bucket and step. Source: Stich, Cordonnier, Jaggi, Sparsified SGD with
/// Memory, NeurIPS 2018; per tensor and with a shared seed as `RandomSparseReducer` in the paper code of
/// epfml/powersgd. Throws Error::usage when BaselineOptions::fraction is not in (0, 1].
template <class T>
std::unique_ptr<Hook<T>> random_k(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
