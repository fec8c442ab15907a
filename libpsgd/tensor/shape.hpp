#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace psgd {

/// Extents of a tensor, outermost first, as PyTorch's `size()`.
using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a 0-dimensional tensor. Throws Error::input when an extent is negative or the
/// product does not fit in 62 bits (so that bytes of float64 for it do not overflow either, up to 2^60 elements).
std::int64_t numel(const Shape& shape);

/// "[64, 3, 7, 7]"
std::string to_string(const Shape& shape);

/// The matrix PowerSGD makes of a tensor: `tensor.view(shape[0], -1)`.
struct MatrixExtents {
  std::int64_t rows = 0;  ///< n = shape[0]
  std::int64_t cols = 0;  ///< m = numel / n; 0 when n = 0
  bool operator==(const MatrixExtents&) const = default;
};

/// A vector of n elements becomes n × 1. Throws Error::input for a 0-dimensional tensor, as PyTorch's view fails there.
MatrixExtents matrix_extents(const Shape& shape);

/// How a tensor's elements lie in memory. The values of a recorded gradient are in logical order; the hooks compress
/// memory order.
enum class MemoryFormat { contiguous, channels_last, channels_last_3d };

/// "contiguous_format", "channels_last" or "channels_last_3d", as torch.memory_format names them.
std::string_view to_string(MemoryFormat format);

/// The inverse; also accepts "contiguous" and "torch.…" prefixes. Throws Error::input for any other name.
MemoryFormat memory_format_from_string(std::string_view name);

}  // namespace psgd
