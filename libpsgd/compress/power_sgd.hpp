#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// PyTorch's `powerSGD_hook`: each tensor of a bucket that is worth it is compressed as a matrix, the others are
/// averaged as they are.
///
/// Source: torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py, `powerSGD_hook`. Throws Error::input when a
/// parameter is 0-dimensional, as PyTorch fails there.
template <class T>
std::unique_ptr<Hook<T>> power_sgd(const HookOptions& options, const HookContext<T>& context);

/// `_should_compress`: the factor's rank and the elements it needs.
struct CompressionDecision {
  bool compress = false;
  std::int64_t rank = 0;          ///< min(rows, cols, matrix_approximation_rank)
  std::int64_t numel_before = 0;  ///< rows · cols
  std::int64_t numel_after = 0;   ///< (rows + cols) · rank when compressed, else rows · cols
};

/// A tensor is compressed iff (rows + cols) · matrix_approximation_rank · min_compression_rate < rows · cols, before
/// the rank is clipped.
CompressionDecision should_compress(std::int64_t rows, std::int64_t cols, std::int64_t matrix_approximation_rank,
                                    double min_compression_rate);

}  // namespace psgd::compress
