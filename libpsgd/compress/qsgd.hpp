#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// Stochastic rounding of each element to one of s = 2^(bits − 1) − 1 levels of its chunk's 2-norm:
///
///     C(v)_i = ‖v‖₂ · sign(v_i) · ξ_i,   ξ_i = (⌊a⌋ + [u < a − ⌊a⌋])/s,   a = s·|v_i|/‖v‖₂,   u uniform in [0, 1)
///
/// so that E C(v) = v. Unbiased, hence without error feedback and compressed from the first step on; every process rank
/// rounds by a generator of its own, seeded by `RandomState(random_seed).randint(10⁹)` for each bucket and step, in
/// rank order. Needs per-rank arithmetic and an all-gather. A chunk that holds NaN or Inf becomes NaN.
///
/// Bytes of a tensor: ⌈n · bits/8⌉, and one number a chunk (float32, or float64 in a float64 bucket). Fixed width: the
/// paper's Elias code pays only where almost all levels are 0. Source: Alistarh, Grubic, Li, Tomioka, Vojnovic, QSGD,
/// NeurIPS 2017, §3.1, in chunks of 512 elements as its experiments. Throws Error::usage for bits outside 2 … 16 and
/// for a negative chunk.
template <class T>
std::unique_ptr<Hook<T>> qsgd(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
