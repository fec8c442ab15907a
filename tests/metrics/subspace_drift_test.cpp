#include "libpsgd/metrics/subspace_drift.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "libpsgd/base/error.hpp"
#include "libpsgd/metrics/rank_spread.hpp"
#include "libpsgd/metrics/spectrum.hpp"
#include "tests/support/known_spectrum.hpp"

namespace psgd {
namespace {

using metrics::spectrum;
using metrics::SpectrumOptions;
using metrics::subspace_drift;

TEST(SubspaceDrift, MeasuresAKnownAngle) {
  const std::vector<double> first{1, 0, 0, 0, 0, 1, 0, 0};
  const double angle = 0.3;
  const std::vector<double> turned{1, 0, 0, 0, 0, std::cos(angle), std::sin(angle), 0};
  const auto drift = subspace_drift(first, turned, 4);
  EXPECT_EQ(drift.dimension, 2);
  EXPECT_NEAR(drift.drift, std::pow(std::sin(angle), 2) / 2, 1e-15);
  EXPECT_NEAR(drift.smallest_cosine, std::cos(angle), 1e-15);
}

TEST(SubspaceDrift, KnowsTheSameAndTheOrthogonalSubspace) {
  std::mt19937 engine(1);
  const std::vector<double> vectors = test::orthonormal_vectors(29, 6, engine);
  const std::span<const double> first(vectors.data(), 29 * 3);
  const std::span<const double> second(vectors.data() + 29 * 3, 29 * 3);
  EXPECT_NEAR(subspace_drift(first, first, 29).drift, 0, 1e-14);
  EXPECT_NEAR(subspace_drift(first, first, 29).smallest_cosine, 1, 1e-14);
  EXPECT_NEAR(subspace_drift(first, second, 29).drift, 1, 1e-14);
  EXPECT_NEAR(subspace_drift(first, second, 29).smallest_cosine, 0, 1e-14);
  // Other vectors of the same subspace.
  std::vector<double> mixed(first.begin(), first.end());
  for (std::size_t i = 0; i < 29; ++i) {
    mixed[i] = std::cos(1.0) * first[i] + std::sin(1.0) * first[29 + i];
    mixed[29 + i] = -std::sin(1.0) * first[i] + std::cos(1.0) * first[29 + i];
  }
  EXPECT_NEAR(subspace_drift(first, mixed, 29).drift, 0, 1e-14);
}

TEST(SubspaceDrift, ComparesAsManyAsBothHave) {
  std::mt19937 engine(2);
  const std::vector<double> vectors = test::orthonormal_vectors(11, 4, engine);
  EXPECT_EQ(subspace_drift(vectors, std::span(vectors).first(22), 11).dimension, 2);
  EXPECT_NEAR(subspace_drift(vectors, std::span(vectors).first(22), 11).drift, 0, 1e-14);
  EXPECT_EQ(subspace_drift(vectors, {}, 11).dimension, 0);
  EXPECT_TRUE(std::isnan(subspace_drift({}, {}, 11).drift));
  EXPECT_TRUE(std::isnan(subspace_drift({}, {}, 0).smallest_cosine));
  EXPECT_THROW((void)subspace_drift(std::span(vectors).first(12), vectors, 11), Error);
}

/// Directions of a matrix span what it was made from, whichever way round it lies and however they were found.
TEST(SubspaceDrift, OfAMatrixAgainstItsOwnVectors) {
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{37, 83}, {83, 37}, {41, 41}}) {
    std::vector<double> values;
    for (int i = 0; i < 20; ++i) values.push_back(std::pow(0.6, i));
    std::mt19937 engine(3);
    const auto matrix = test::matrix_with_spectrum(rows, cols, values, engine);
    std::mt19937 same(3);
    (void)test::orthonormal_vectors(rows, values.size(), same);
    const auto right = test::orthonormal_vectors(cols, values.size(), same);
    for (const std::int64_t limit : {0, 512}) {
      SpectrumOptions options;
      options.exact_limit = limit;
      options.leading = 8;
      options.directions = 5;
      const auto found =
          spectrum(matrix.data(), static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols), options);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->exact, limit > 0);
      ASSERT_EQ(found->directions.size(), 5 * cols);
      const auto drift =
          subspace_drift(found->directions, std::span(right).first(5 * cols), static_cast<std::int64_t>(cols));
      EXPECT_LE(drift.drift, 1e-8) << rows << " x " << cols << " limit " << limit;
      EXPECT_GE(drift.smallest_cosine, 1 - 1e-8);
    }
  }
}

TEST(SubspaceDrift, LeavesOutDirectionsOfNothing) {
  std::mt19937 engine(4);
  const auto matrix = test::matrix_with_spectrum(30, 50, {2, 1}, engine);
  SpectrumOptions options;
  options.directions = 4;
  EXPECT_EQ(spectrum(matrix.data(), 30, 50, options)->directions.size(), 2U * 50);
  options.exact_limit = 0;
  options.leading = 6;
  EXPECT_EQ(spectrum(matrix.data(), 30, 50, options)->directions.size(), 2U * 50);
}

TEST(RankSpread, ComparesRanksWithTheirMean) {
  // Gradients 3 and 5: mean 4, deviations −1 and 1.
  EXPECT_DOUBLE_EQ(metrics::rank_spread(9 + 25, 16, 2), 0.25);
  EXPECT_EQ(metrics::rank_spread(16, 16, 1), 0);
  EXPECT_EQ(metrics::rank_spread(16 * (1 - 1e-16), 16, 1), 0);
  EXPECT_TRUE(std::isnan(metrics::rank_spread(2, 0, 2)));
}

}  // namespace
}  // namespace psgd
