#pragma once

#include <cstddef>
#include <string_view>

namespace psgd {

/// Element types a gradient can have been recorded in.
enum class DType { float16, bfloat16, float32, float64 };

/// "float16", "bfloat16", "float32" or "float64", as PyTorch names them.
std::string_view to_string(DType dtype);

/// The inverse of to_string. Throws Error::input for any other name.
DType dtype_from_string(std::string_view name);

/// Bytes of one element.
std::size_t size_of(DType dtype);

/// Gram–Schmidt is PyTorch's rule for these, whatever the rank.
inline bool is_half_precision(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

template <class T>
inline constexpr DType dtype_of = sizeof(T) == sizeof(double) ? DType::float64 : DType::float32;

}  // namespace psgd
