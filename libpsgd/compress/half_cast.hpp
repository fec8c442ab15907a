#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// Gradients cast to float16 or bfloat16 for the all-reduce, as PyTorch's fp16_compress_hook and bf16_compress_hook:
/// cast, divide by W, add up in rank order, each time rounded to the half type (nearest, ties to even), then cast back.
/// float64 rounds to float32 first, as PyTorch does. Overflow gives infinities: that is what the hooks do, and why the
/// division comes first. The order in which a real all-reduce adds depends on its algorithm and the number of process
/// ranks.
///
/// No error feedback, and compressed from the first step on. Rounding is not linear, so needs per-rank arithmetic.
/// Bytes of a tensor: 2·n. Source: torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py.
template <class T>
std::unique_ptr<Hook<T>> float16_cast(const HookOptions& options, const HookContext<T>& context);
template <class T>
std::unique_ptr<Hook<T>> bfloat16_cast(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
