#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Rounding of float32 to the half-precision types, to the nearest, ties to even; NaN stays NaN.
namespace psgd {

struct Float16 {
  /// Subnormal numbers included; from 65520 on infinity.
  static float round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return value;
    float result = 0;
    if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 leaves multiples of 2^-24, rounded to even
      result = (std::bit_cast<float>(magnitude) + 0.5F) - 0.5F;
    } else {
      const std::uint32_t odd = magnitude >> 13U & 1U;
      result = std::bit_cast<float>((magnitude + 0x0FFFU + odd) & ~0x1FFFU);
      if (result > 65504.0F) result = std::numeric_limits<float>::infinity();
    }
    return std::copysign(result, value);
  }
};

struct BFloat16 {
  static float round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return value;
    const std::uint32_t odd = bits >> 16U & 1U;
    return std::bit_cast<float>((bits + 0x7FFFU + odd) & 0xFFFF0000U);
  }
};

}  // namespace psgd
