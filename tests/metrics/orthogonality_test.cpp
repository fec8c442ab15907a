#include "libpsgd/metrics/orthogonality.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace psgd::metrics {
namespace {

TEST(Orthogonality, IsTheDistanceOfTheGramMatrixFromIdentity) {
  const std::array<double, 4> identity{1, 0, 0, 1};
  EXPECT_EQ(orthogonality(identity.data(), 2), 0);
  const std::array<double, 4> off{1, 0.3, 0.3, 1.4};
  EXPECT_DOUBLE_EQ(orthogonality(off.data(), 2), std::sqrt(0.09 + 0.09 + 0.16));
  EXPECT_EQ(orthogonality(nullptr, 0), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(orthogonality(&nan, 1)));
}

TEST(ZeroColumn, IsFound) {
  const std::array<double, 4> gram{2, 0, 0, 0};
  EXPECT_EQ(zero_column(gram.data(), 2), 1);
  const std::array<double, 4> whole{2, 1, 1, 3};
  EXPECT_EQ(zero_column(whole.data(), 2), std::nullopt);
}

TEST(ParallelColumns, AreFoundWhateverTheirLengthsAndSigns) {
  // Columns a, b, −3a.
  const std::array<double, 9> gram{2, 1, -6, 1, 5, -3, -6, -3, 18};
  EXPECT_EQ(parallel_columns(gram.data(), 3, 1e-7), (std::pair<std::int64_t, std::int64_t>(0, 2)));
  const std::array<double, 4> apart{1, 0.999, 0.999, 1};
  EXPECT_EQ(parallel_columns(apart.data(), 2, 1e-7), std::nullopt);
  const std::array<double, 4> zero{1, 0, 0, 0};
  EXPECT_EQ(parallel_columns(zero.data(), 2, 1e-7), std::nullopt);
}

}  // namespace
}  // namespace psgd::metrics
