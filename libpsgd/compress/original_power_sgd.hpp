#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// The hook as first published in 2020: every bucket one square matrix, from the first step on, a fresh Q every step,
/// Gram–Schmidt with epsilon 0 at every rank; no error feedback, warm start, threshold or start iteration. Of the
/// options only matrix_approximation_rank and random_seed count. 2·side·rank elements a bucket are counted as sent.
///
/// The 2020 code drew Q in float32 always; here it is drawn in the bucket's element type. The layout has to be padded
/// with BucketPadding::square. Throws Error::input when a square's side is smaller than the rank. Source:
/// pytorch/pytorch pull request 48060 (November 2020), `powerSGD_hook`.
template <class T>
std::unique_ptr<Hook<T>> original_power_sgd(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
