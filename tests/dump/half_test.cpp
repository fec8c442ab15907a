#include "libpsgd/dump/half.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "libpsgd/dump/convert.hpp"

namespace psgd::dump {
namespace {

float decode(DType dtype, std::uint16_t bits) {
  float value = 0;
  convert<float>({dtype, false}, &bits, 1, &value);
  return value;
}

TEST(Half, EveryNumberComesBackAsItWas) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto code = static_cast<std::uint16_t>(bits);
    const float half = decode(DType::float16, code);
    if (std::isnan(half)) {
      EXPECT_EQ(to_float16_bits(half) & 0x7FFF, 0x7E00);
    } else {
      ASSERT_EQ(to_float16_bits(half), code);
    }
    const float brain = decode(DType::bfloat16, code);
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(decode(DType::bfloat16, to_bfloat16_bits(brain))));
    } else {
      ASSERT_EQ(to_bfloat16_bits(brain), code);
    }
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  // Halfway between two neighbours, and the two floats beside that.
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = decode(DType::float16, static_cast<std::uint16_t>(bits));
    const float high = decode(DType::float16, static_cast<std::uint16_t>(bits + 1));
    const float middle = (low + high) / 2;
    ASSERT_EQ(to_float16_bits(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(to_float16_bits(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(to_float16_bits(std::nextafter(middle, 1e9F)), bits + 1);
    ASSERT_EQ(to_float16_bits(-middle), 0x8000U | (bits % 2 == 0 ? bits : bits + 1));
  }
}

TEST(Half, OverflowsToInfinity) {
  EXPECT_EQ(to_float16_bits(65519.0F), 0x7BFF);
  EXPECT_EQ(to_float16_bits(65520.0F), 0x7C00);
  EXPECT_EQ(to_float16_bits(-1e30F), 0xFC00);
  EXPECT_EQ(to_float16_bits(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(to_bfloat16_bits(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(to_bfloat16_bits(1.00390625F), 0x3F80);  // halfway: to even
  EXPECT_EQ(to_bfloat16_bits(1.01171875F), 0x3F82);
}

}  // namespace
}  // namespace psgd::dump
