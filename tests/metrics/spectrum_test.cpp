#include "libpsgd/metrics/spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libpsgd/base/error.hpp"
#include "libpsgd/metrics/optimal_error.hpp"
#include "libpsgd/metrics/spectrum_rank.hpp"
#include "tests/support/known_spectrum.hpp"

namespace psgd {
namespace {

using metrics::Bounded;
using metrics::effective_rank;
using metrics::optimal_relative_error;
using metrics::optimality_gap;
using metrics::singular_value;
using metrics::Spectrum;
using metrics::spectrum;
using metrics::SpectrumOptions;
using metrics::stable_rank;

using Matrix = std::vector<double>;

std::vector<double> geometric(std::size_t count, double ratio) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 3 * std::pow(ratio, static_cast<double>(i));
  return values;
}

struct Extents {
  std::int64_t rows;
  std::int64_t cols;
};

Matrix with_spectrum(const Extents& extents, const std::vector<double>& values, unsigned seed) {
  std::mt19937 engine(seed);
  return test::matrix_with_spectrum(static_cast<std::size_t>(extents.rows), static_cast<std::size_t>(extents.cols),
                                    values, engine);
}

double tail_error(const std::vector<double>& values, std::size_t rank) {
  double tail = 0;
  double all = 0;
  for (std::size_t i = values.size(); i > 0; --i) {
    all += values[i - 1] * values[i - 1];
    if (i == rank + 1) tail = all;
  }
  return std::sqrt(tail / all);
}

class Exact : public ::testing::TestWithParam<Extents> {};

INSTANTIATE_TEST_SUITE_P(Shapes, Exact,
                         ::testing::Values(Extents{13, 13}, Extents{7, 31}, Extents{31, 7}, Extents{1, 17},
                                           Extents{17, 1}, Extents{1, 1}, Extents{101, 53}, Extents{53, 211}),
                         [](const auto& test) {
                           return std::to_string(test.param.rows) + "x" + std::to_string(test.param.cols);
                         });

TEST_P(Exact, FindsTheSpectrumItWasMadeFrom) {
  const auto side = static_cast<std::size_t>(std::min(GetParam().rows, GetParam().cols));
  const std::vector<double> values = geometric(side, 0.8);
  const Matrix matrix = with_spectrum(GetParam(), values, 1);
  const auto found = spectrum(matrix.data(), GetParam().rows, GetParam().cols);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->exact);
  ASSERT_EQ(found->values.size(), side);
  double entropy = 0;
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  for (std::size_t i = 0; i < side; ++i) {
    EXPECT_NEAR(found->values[i], values[i], 1e-14 * values[0]) << i;
    entropy -= values[i] / sum * std::log(values[i] / sum);
  }
  EXPECT_NEAR(found->norm, std::sqrt(squares), 1e-13);
  EXPECT_NEAR(stable_rank(*found).value, squares / (values[0] * values[0]), 1e-12);
  EXPECT_NEAR(effective_rank(*found).value, std::exp(entropy), 1e-10);
  EXPECT_EQ(effective_rank(*found).lower, effective_rank(*found).upper);
  for (std::size_t rank = 0; rank <= side + 1; ++rank) {
    const Bounded error = optimal_relative_error(*found, static_cast<std::int64_t>(rank));
    EXPECT_NEAR(error.value, rank == 0 ? 1.0 : rank < side ? tail_error(values, rank) : 0.0, 1e-13) << rank;
  }
}

TEST_P(Exact, ReadsFloats) {
  const auto side = static_cast<std::size_t>(std::min(GetParam().rows, GetParam().cols));
  const std::vector<double> values = geometric(side, 0.9);
  const Matrix matrix = with_spectrum(GetParam(), values, 2);
  const std::vector<float> single(matrix.begin(), matrix.end());
  const auto found = spectrum(single.data(), GetParam().rows, GetParam().cols);
  ASSERT_TRUE(found);
  for (std::size_t i = 0; i < side; ++i) EXPECT_NEAR(found->values[i], values[i], 3e-7 * values[0]) << i;
}

TEST(Spectrum, SeesSmallValuesThatAGramMatrixLoses) {
  const std::vector<double> values{1, 1e-6, 1e-10, 1e-13};
  const Matrix matrix = with_spectrum({40, 23}, values, 3);
  const auto found = spectrum(matrix.data(), 40, 23);
  ASSERT_TRUE(found);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found->values[i], values[i], 1e-15) << i;
}

TEST(Spectrum, DoesNotExistForNaNAndInfinity) {
  for (const double bad :
       {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    Matrix matrix(35, 1.0);
    matrix[17] = bad;
    EXPECT_FALSE(spectrum(matrix.data(), 5, 7));
    const std::vector<float> single(matrix.begin(), matrix.end());
    EXPECT_FALSE(spectrum(single.data(), 7, 5));
  }
}

TEST(Spectrum, OfNothingIsEmptyAndOfZeroZero) {
  const Matrix zeros(12, 0.0);
  for (const Extents& extents : {Extents{0, 0}, Extents{0, 5}, Extents{5, 0}, Extents{3, 4}}) {
    const auto found = spectrum(zeros.data(), extents.rows, extents.cols);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->values, std::vector<double>(static_cast<std::size_t>(found->side()), 0.0));
    EXPECT_EQ(found->norm, 0);
    EXPECT_TRUE(found->directions.empty());
    EXPECT_TRUE(std::isnan(stable_rank(*found).value));
    EXPECT_TRUE(std::isnan(effective_rank(*found).value));
    EXPECT_TRUE(std::isnan(optimal_relative_error(*found, 1).value));
    EXPECT_EQ(singular_value(*found, 0).value, 0);
  }
}

TEST(Spectrum, NeitherOverflowsNorVanishes) {
  for (const double scale : {1e-320, 1e-250, 1e250, 1e305}) {
    Matrix matrix{3 * scale, 0, 0, 0, 4 * scale, 0};
    for (const std::int64_t limit : {0, 512}) {
      SpectrumOptions options;
      options.exact_limit = limit;
      options.leading = 1;
      options.oversampling = 0;
      const auto found = spectrum(matrix.data(), 2, 3, options);
      ASSERT_TRUE(found);
      EXPECT_NEAR(found->norm / scale, 5, 1e-3) << scale;
      EXPECT_LE(stable_rank(*found).lower, 25.0 / 16 + 2e-3) << scale;
      EXPECT_GE(stable_rank(*found).upper, 25.0 / 16 - 2e-3) << scale;
      EXPECT_LE(optimal_relative_error(*found, 1).lower, 0.6 + 1e-3) << scale;
      EXPECT_GE(optimal_relative_error(*found, 1).upper, 0.6 - 1e-3) << scale;
    }
  }
}

TEST(Spectrum, RefusesNegativeOptions) {
  SpectrumOptions options;
  options.power_iterations = -1;
  const double one = 1;
  EXPECT_THROW((void)spectrum(&one, 1, 1, options), Error);
}

/// The kinds of spectra that a sketch finds easy and hard, all of 67 values.
struct Kind {
  const char* name;
  double (*value)(double i);
};

class Randomized : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, Randomized,
                         ::testing::Values(Kind{"geometric", [](double i) { return std::pow(0.7, i); }},
                                           Kind{"flat", [](double) { return 2.0; }},
                                           Kind{"slow", [](double i) { return 1 / (1 + i); }},
                                           Kind{"low_rank", [](double i) { return i < 5 ? 10 - i : 0.0; }},
                                           Kind{"low_rank_and_noise", [](double i) { return i < 5 ? 10 - i : 1e-3; }},
                                           Kind{"step_in_the_sketch", [](double i) { return i < 14 ? 1 : 1e-7; }},
                                           Kind{"large", [](double i) { return 1e30 * std::exp(-i / 9); }}),
                         [](const auto& test) { return std::string(test.param.name); });

void expect_within(const Bounded& bounded, double truth, const std::string& what) {
  EXPECT_LE(bounded.lower, truth * (1 + 1e-12)) << what;
  EXPECT_GE(bounded.upper, truth * (1 - 1e-12)) << what;
  EXPECT_LE(bounded.lower, bounded.value * (1 + 1e-15)) << what;
  EXPECT_GE(bounded.upper, bounded.value * (1 - 1e-15)) << what;
}

TEST_P(Randomized, KeepsItsBounds) {
  std::vector<double> values(67);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = GetParam().value(static_cast<double>(i));
  const unsigned fresh = std::random_device()();
  for (const Extents& extents : {Extents{67, 103}, Extents{149, 67}}) {
    for (unsigned round = 0; round < 4; ++round) {
      const unsigned seed = round == 0 ? 1 : fresh + round;
      const Matrix matrix = with_spectrum(extents, values, seed);
      SpectrumOptions options;
      options.exact_limit = 10;
      options.leading = 8;
      options.oversampling = 5;
      options.seed = seed;
      options.power_iterations = static_cast<int>(round);
      const auto truth = spectrum(matrix.data(), extents.rows, extents.cols);
      const auto found = spectrum(matrix.data(), extents.rows, extents.cols, options);
      ASSERT_TRUE(truth && found);
      EXPECT_FALSE(found->exact);
      EXPECT_EQ(found->values.size(), 13U);
      EXPECT_LE(found->failure_probability, 1.001e-8);
      const std::string where = "seed " + std::to_string(seed) + " power iterations " + std::to_string(round);
      EXPECT_NEAR(found->norm, truth->norm, 1e-13 * truth->norm);
      for (std::int64_t i = 0; i < 67; ++i) {
        const Bounded value = singular_value(*found, i);
        const double allowance = 1e-14 * values[0];
        EXPECT_LE(value.lower, truth->values[static_cast<std::size_t>(i)] + allowance) << where << " value " << i;
        EXPECT_GE(value.upper, truth->values[static_cast<std::size_t>(i)] - allowance) << where << " value " << i;
      }
      for (const std::int64_t rank : {0, 1, 2, 5, 8, 13, 20, 66, 67, 100}) {
        const Bounded error = optimal_relative_error(*found, rank);
        const double best = optimal_relative_error(*truth, rank).value;
        EXPECT_LE(error.lower, best + 1e-14) << where << " rank " << rank;
        EXPECT_GE(error.upper, best - 1e-14) << where << " rank " << rank;
        EXPECT_LE(error.lower, error.value);
        EXPECT_LE(error.value, error.upper);
      }
      expect_within(stable_rank(*found), stable_rank(*truth).value, where + " stable rank");
      expect_within(effective_rank(*found), effective_rank(*truth).value, where + " effective rank");
      EXPECT_GE(effective_rank(*found).lower, 1 - 1e-11);
      EXPECT_LE(effective_rank(*found).upper, 67 * (1 + 1e-11));
    }
  }
}

TEST(Randomized, IsTightWhereTheSpectrumFalls) {
  const Matrix matrix = with_spectrum({120, 90}, geometric(90, 0.5), 4);
  SpectrumOptions options;
  options.exact_limit = 10;
  options.leading = 16;
  const auto found = spectrum(matrix.data(), 120, 90, options);
  ASSERT_TRUE(found && !found->exact);
  for (std::int64_t i = 0; i < 8; ++i) {
    const Bounded value = singular_value(*found, i);
    EXPECT_LE(value.upper - value.lower, 1e-8 * value.value) << i;
    const Bounded error = optimal_relative_error(*found, i);
    EXPECT_LE(error.upper - error.lower, 1e-6 * error.value) << i;
  }
  EXPECT_LE(stable_rank(*found).upper - stable_rank(*found).lower, 1e-12);
  EXPECT_LE(effective_rank(*found).upper - effective_rank(*found).lower, 1e-4);
}

TEST(Randomized, SaysHowFlatItMayBe) {
  const Matrix matrix = with_spectrum({120, 90}, std::vector<double>(90, 1.0), 5);
  SpectrumOptions options;
  options.exact_limit = 10;
  options.leading = 20;
  const auto found = spectrum(matrix.data(), 120, 90, options);
  ASSERT_TRUE(found && !found->exact);
  const Bounded rank = effective_rank(*found);
  EXPECT_NEAR(rank.value, 90, 1);
  EXPECT_GE(rank.lower, 10);
}

TEST(Randomized, DependsOnItsSeedAlone) {
  const Matrix matrix = with_spectrum({80, 71}, geometric(71, 0.97), 6);
  SpectrumOptions options;
  options.exact_limit = 0;
  options.leading = 10;
  options.directions = 3;
  const auto one = spectrum(matrix.data(), 80, 71, options);
  const auto again = spectrum(matrix.data(), 80, 71, options);
  options.seed = 9;
  const auto other = spectrum(matrix.data(), 80, 71, options);
  EXPECT_EQ(one->values, again->values);
  EXPECT_EQ(one->directions, again->directions);
  EXPECT_NE(one->values, other->values);
}

TEST(Randomized, GivesWayWhereTheSketchWouldBeTheMatrix) {
  const Matrix matrix = with_spectrum({30, 20}, geometric(20, 0.9), 7);
  SpectrumOptions options;
  options.exact_limit = 0;
  options.leading = 10;
  options.oversampling = 10;
  EXPECT_TRUE(spectrum(matrix.data(), 30, 20, options)->exact);
}

TEST(OptimalityGap, IsTheRatioToTheBest) {
  const Bounded gap = optimality_gap(0.6, {0.5, 0.4, 0.6});
  EXPECT_DOUBLE_EQ(gap.value, 1.2);
  EXPECT_DOUBLE_EQ(gap.lower, 1);
  EXPECT_DOUBLE_EQ(gap.upper, 1.5);
  EXPECT_TRUE(std::isinf(optimality_gap(0.1, {0, 0, 0}).value));
  EXPECT_TRUE(std::isnan(optimality_gap(0, {0, 0, 0}).value));
  EXPECT_TRUE(std::isnan(optimality_gap(std::nan(""), {0.1, 0.1, 0.1}).value));
}

}  // namespace
}  // namespace psgd
