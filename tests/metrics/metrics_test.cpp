#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libpsgd/metrics/compression_rate.hpp"
#include "libpsgd/metrics/cosine.hpp"
#include "libpsgd/metrics/norms.hpp"
#include "libpsgd/metrics/relative_error.hpp"
#include "libpsgd/metrics/residual_norm.hpp"
#include "libpsgd/metrics/target_relative_error.hpp"

namespace psgd::metrics {
namespace {

/// G = (3, 4), O = (3, 0): O − G = (0, −4).
Measurement example() {
  Measurement measurement;
  measurement.sums = {25, 9, 16, 9};
  measurement.target_sq = 100;
  measurement.residual_sq = 36;
  measurement.numel_before = 100;
  measurement.numel_after = 20;
  return measurement;
}

TEST(Metrics, AreRatiosOfNorms) {
  EXPECT_DOUBLE_EQ(gradient_norm(example()), 5);
  EXPECT_DOUBLE_EQ(averaged_norm(example()), 3);
  EXPECT_DOUBLE_EQ(relative_error(example()), 0.8);
  EXPECT_DOUBLE_EQ(cosine(example()), 0.6);
  EXPECT_DOUBLE_EQ(target_relative_error(example()), 0.6);
  EXPECT_DOUBLE_EQ(compression_rate(example()), 5);
}

TEST(Metrics, DoNotExistForZeroNorms) {
  EXPECT_TRUE(std::isnan(relative_error({})));
  EXPECT_TRUE(std::isnan(cosine({})));
  EXPECT_TRUE(std::isnan(target_relative_error({})));
  EXPECT_TRUE(std::isnan(compression_rate({})));
}

TEST(Metrics, HoldForNormsWhoseSquaresAreLarge) {
  Measurement measurement;
  measurement.sums = {1e300, 1e300, 1e300, 1e300};
  EXPECT_DOUBLE_EQ(cosine(measurement), 1);
}

TEST(Metrics, HaveDistinctNames) {
  for (std::size_t i = 0; i < metrics().size(); ++i) {
    for (std::size_t j = i + 1; j < metrics().size(); ++j) EXPECT_NE(metrics()[i].name, metrics()[j].name);
  }
}

TEST(ResidualNorm, FollowsFromMeanAndDeviation) {
  // Ē = (1, 2), D = (3, −1): E = (4, 1).
  EXPECT_DOUBLE_EQ(residual_norm(5, 1, 10), std::sqrt(17));
  EXPECT_EQ(residual_norm(1, -1, 1 - 1e-16), 0);
  EXPECT_TRUE(std::isnan(residual_norm(std::numeric_limits<double>::quiet_NaN(), 0, 0)));
}

TEST(ResidualGrowth, IsLastOverFirst) {
  EXPECT_DOUBLE_EQ(residual_growth(2, 5), 2.5);
  EXPECT_TRUE(std::isnan(residual_growth(0, 5)));
}

}  // namespace
}  // namespace psgd::metrics
