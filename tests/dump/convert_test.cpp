#include "libpsgd/dump/convert.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace psgd::dump {
namespace {

// Runs every test at each level of SIMD that this machine has.
class Convert : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// By the definition of the formats, in double arithmetic.
double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const double sign = (bits >> (exponent_bits + mantissa_bits) & 1U) != 0 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa =
      static_cast<double>(bits & ((1U << mantissa_bits) - 1)) / static_cast<double>(1 << mantissa_bits);
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias);
  return sign * std::ldexp(1 + mantissa, exponent - bias);
}

template <class Bits>
Bits swapped(Bits value) {
  unsigned char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  std::reverse(bytes, bytes + sizeof value);
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void expect_same(T found, double expected, std::size_t i) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(found)) << i;
  } else {
    ASSERT_EQ(found, static_cast<T>(expected)) << i;
    ASSERT_EQ(std::signbit(found), std::signbit(expected)) << i;
  }
}

template <class T, class Bits>
void expect_converts(DType dtype, std::vector<Bits> source, const std::vector<double>& expected) {
  for (const bool swap : {false, true}) {
    if (swap) {
      for (Bits& bits : source) bits = swapped(bits);
    }
    std::vector<T> out(source.size() + 1, T{77});
    convert<T>({dtype, swap}, source.data(), source.size(), out.data());
    for (std::size_t i = 0; i < source.size(); ++i) expect_same(out[i], expected[i], i);
    EXPECT_EQ(out.back(), T{77});
  }
}

TEST_P(Convert, EveryFloat16AndBfloat16) {
  std::vector<std::uint16_t> all(0x10000);
  std::vector<double> halves;
  std::vector<double> brains;
  for (std::uint32_t bits = 0; bits < all.size(); ++bits) {
    all[bits] = static_cast<std::uint16_t>(bits);
    halves.push_back(small_float(bits, 5, 10));
    brains.push_back(small_float(bits, 8, 7));
  }
  expect_converts<float>(DType::float16, all, halves);
  expect_converts<double>(DType::float16, all, halves);
  expect_converts<float>(DType::bfloat16, all, brains);
  expect_converts<double>(DType::bfloat16, all, brains);
}

template <class Bits, class Value>
void random_values(std::vector<Bits>& bits, std::vector<double>& values) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 5003; ++i) {
    bits.push_back(static_cast<Bits>(random()));
    values.push_back(static_cast<double>(std::bit_cast<Value>(bits.back())));
  }
  for (const Value special : {std::numeric_limits<Value>::infinity(), -std::numeric_limits<Value>::infinity(), Value{0},
                              -Value{0}, std::numeric_limits<Value>::denorm_min(), std::numeric_limits<Value>::max()}) {
    bits.push_back(std::bit_cast<Bits>(special));
    values.push_back(static_cast<double>(special));
  }
}

TEST_P(Convert, Float32) {
  std::vector<std::uint32_t> bits;
  std::vector<double> values;
  random_values<std::uint32_t, float>(bits, values);
  expect_converts<float>(DType::float32, bits, values);
  expect_converts<double>(DType::float32, bits, values);
}

TEST_P(Convert, Float64RoundsToFloat) {
  std::vector<std::uint64_t> bits;
  std::vector<double> values;
  random_values<std::uint64_t, double>(bits, values);
  for (int i = 0; i < 1000; ++i) {  // within the range of a float
    values.push_back(std::sin(i) * std::pow(10, i % 80 - 45));
    bits.push_back(std::bit_cast<std::uint64_t>(values.back()));
  }
  expect_converts<float>(DType::float64, bits, values);
  expect_converts<double>(DType::float64, bits, values);
}

TEST_P(Convert, EveryLength) {
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<std::uint16_t> source;
    std::vector<double> expected;
    for (std::size_t i = 0; i < count; ++i) {
      source.push_back(static_cast<std::uint16_t>(0x3C00 + i));
      expected.push_back(small_float(source.back(), 5, 10));
    }
    expect_converts<float>(DType::float16, source, expected);
    expect_converts<double>(DType::float16, source, expected);
  }
}

// Long ones are stored in another way, which depends on where they begin.
TEST_P(Convert, LongArraysWhereverTheyBegin) {
  std::vector<std::uint16_t> source(200'003);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i % 0x7000);
  for (const std::size_t begin : {0, 1, 5, 16, 31}) {
    std::vector<double> out(source.size() + begin + 1, 77);
    convert<double>({DType::bfloat16, false}, source.data(), source.size(), out.data() + begin);
    std::vector<float> floats(source.size() + begin + 1, 77);
    convert<float>({DType::bfloat16, false}, source.data(), source.size(), floats.data() + begin);
    for (std::size_t i = 0; i < source.size(); ++i) {
      const double expected = small_float(source[i], 8, 7);
      ASSERT_EQ(out[begin + i], expected) << i;
      ASSERT_EQ(floats[begin + i], static_cast<float>(expected)) << i;
    }
    EXPECT_EQ(out.back(), 77);
    EXPECT_EQ(floats.back(), 77);
    if (begin > 0) {
      EXPECT_EQ(out[begin - 1], 77);
    }
  }
}

TEST_P(Convert, UndoesShuffle) {
  std::mt19937 random(3);
  for (const std::size_t element : {0, 1, 2, 3, 4, 7, 8, 16, 1000}) {
    for (const std::size_t bytes : {0, 1, 7, 8, 15, 64, 65, 127, 1000, 1024, 4099}) {
      std::vector<std::byte> original(bytes);
      for (std::byte& byte : original) byte = static_cast<std::byte>(random());
      std::vector<std::byte> shuffled = original;
      const std::size_t count = element == 0 ? 0 : bytes / element;
      for (std::size_t i = 0; count > 1 && i < count; ++i) {
        for (std::size_t k = 0; k < element; ++k) shuffled[k * count + i] = original[i * element + k];
      }
      std::vector<std::byte> out(bytes);
      unshuffle(shuffled.data(), element, bytes, out.data());
      EXPECT_EQ(out, original) << element << " of " << bytes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, Convert, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& tested) { return std::string(hwy::TargetName(tested.param)); });

}  // namespace
}  // namespace psgd::dump
