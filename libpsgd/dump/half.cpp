#include "libpsgd/dump/half.hpp"

#include <bit>
#include <cmath>

namespace psgd::dump {

std::uint16_t to_float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t result = 0;
  if (magnitude > 0x7F800000U) {
    result = 0x7E00U;
  } else if (magnitude >= 0x477FF000U) {  // 65520, halfway to the first number beyond the largest
    result = 0x7C00U;
  } else if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 leaves multiples of 2^-24, rounded to even
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    result = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    const std::uint32_t odd = magnitude >> 13U & 1U;
    result = (magnitude - (112U << 23U) + 0x0FFFU + odd) >> 13U;
  }
  return static_cast<std::uint16_t>(sign | result);
}

std::uint16_t to_bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  const std::uint32_t odd = bits >> 16U & 1U;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + odd) >> 16U);
}

}  // namespace psgd::dump
