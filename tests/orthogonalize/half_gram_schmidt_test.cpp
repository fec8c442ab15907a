// Gram–Schmidt in emulated half precision, rounded by hand.

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "libpsgd/tensor/half_rounding.hpp"
#include "tests/orthogonalize/run.hpp"

namespace psgd::orthogonalize::test {
namespace {

TEST(HalfRounding, Float16) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Float16::round(1.0F + 0x1p-11F), 1.0F);                // tie to even
  EXPECT_EQ(Float16::round(1.0F + 3 * 0x1p-11F), 1.0F + 0x1p-9F);  // tie to even, upwards
  EXPECT_EQ(Float16::round(-0x1p-25F), -0.0F);
  EXPECT_EQ(Float16::round(0x1.8p-24F), 0x1p-23F);
  EXPECT_EQ(Float16::round(65519.0F), 65504.0F);
  EXPECT_EQ(Float16::round(65520.0F), infinity);
  EXPECT_EQ(Float16::round(-infinity), -infinity);
  EXPECT_TRUE(std::isnan(Float16::round(std::nanf(""))));
}

TEST(HalfRounding, BFloat16) {
  EXPECT_EQ(BFloat16::round(1.0F + 0x1p-8F), 1.0F);
  EXPECT_EQ(BFloat16::round(1.0F + 3 * 0x1p-8F), 1.0F + 0x1p-6F);
  EXPECT_EQ(BFloat16::round(0x1.ffp127F), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(BFloat16::round(std::nanf(""))));
}

template <class Half>
bool all_half(const std::vector<float>& values) {
  for (const float value : values) {
    if (Half::round(value) != value) return false;
  }
  return true;
}

TEST(HalfGramSchmidt, ResultsAreHalfPrecisionNumbers) {
  Random random;
  ThreadPool pool(1);
  const auto of = backend::cpu<float>(pool);
  const std::vector<float> values = random.uniform<float>(50 * 4);
  EXPECT_TRUE(all_half<Float16>(run(*of, "half-gram-schmidt", values, 50, 4)));
  EXPECT_TRUE(all_half<BFloat16>(run(*of, "bfloat16-gram-schmidt", values, 50, 4)));
}

TEST(HalfGramSchmidt, EveryOperationIsRounded) {
  ThreadPool pool(1);
  const auto of = backend::cpu<float>(pool);
  // ‖(3, 4)‖ = 5; 0.6 and 0.8 are no half-precision numbers, and neither are the products that follow.
  const std::vector<float> values{3, 1, 4, 2};
  const float a = Float16::round(0.6F);
  const float b = Float16::round(0.8F);
  const float dot = Float16::round(a + Float16::round(b * 2));
  const float c = Float16::round(1 - Float16::round(dot * a));
  const float d = Float16::round(2 - Float16::round(dot * b));
  const float norm = Float16::round(std::sqrt(c * c + d * d));
  const std::vector<float> expected{a, Float16::round(c / norm), b, Float16::round(d / norm)};
  EXPECT_EQ(run(*of, "half-gram-schmidt", values, 2, 2), expected);
}

TEST(HalfGramSchmidt, TheTypeThatCarriesItMakesNoDifference) {
  Random random;
  ThreadPool pool(1);
  const std::vector<float> values = random.uniform<float>(70 * 3);
  const std::vector<double> wide(values.begin(), values.end());
  const std::vector<float> single = run(*backend::cpu<float>(pool), "half-gram-schmidt", values, 70, 3, 0.01);
  const std::vector<double> twofold = run(*backend::cpu<double>(pool), "half-gram-schmidt", wide, 70, 3, 0.01);
  EXPECT_EQ(std::vector<double>(single.begin(), single.end()), twofold);
}

TEST(HalfGramSchmidt, ANormBeyondTheLargestNumberIsInfinite) {
  ThreadPool pool(1);
  const std::vector<float> found =
      run(*backend::cpu<float>(pool), "half-gram-schmidt", {60000, 60000, 60000, 60000}, 4, 1);
  EXPECT_EQ(found, std::vector<float>(4, 0.0F));
}

}  // namespace
}  // namespace psgd::orthogonalize::test
