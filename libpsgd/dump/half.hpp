#pragma once

#include <cstdint>

namespace psgd::dump {

/// The bits of the nearest float16, ties to even; overflow gives infinity, NaN stays NaN.
std::uint16_t to_float16_bits(float value);

/// The bits of the nearest bfloat16, ties to even; NaN stays NaN.
std::uint16_t to_bfloat16_bits(float value);

}  // namespace psgd::dump
