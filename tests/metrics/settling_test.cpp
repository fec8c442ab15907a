#include "libpsgd/metrics/settling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

namespace psgd {
namespace {

using metrics::settled_from;

TEST(SettledFrom, FindsWhereASeriesReachesItsLevel) {
  EXPECT_EQ(settled_from(std::vector<double>{9, 7, 5, 3, 1.05, 1, 1, 0.95, 1, 1}, 0.1), 4U);
  EXPECT_EQ(settled_from(std::vector<double>(8, 2.0), 0), 0U);
  EXPECT_EQ(settled_from(std::vector<double>{9, -2, -2, -2.1, -2, -2, -2, -2}, 0.1), 1U);
}

TEST(SettledFrom, WantsItToStay) {
  EXPECT_EQ(settled_from(std::vector<double>{1, 1, 1, 5, 1, 1, 1, 1}, 0.1), 4U);
  EXPECT_EQ(settled_from(std::vector<double>{1, 1, 1, 1, 1, 1, 1, 5}, 0.1), std::nullopt);
  EXPECT_EQ(settled_from(std::vector<double>{8, 7, 6, 5, 4, 3, 2, 1}, 0.1), std::nullopt);
}

TEST(SettledFrom, NeedsValues) {
  EXPECT_EQ(settled_from({}, 0.1), std::nullopt);
  EXPECT_EQ(settled_from(std::vector<double>(7, 1.0), 0.1), std::nullopt);
  std::vector<double> series(10, 1.0);
  series[0] = series[5] = std::nan("");
  EXPECT_EQ(settled_from(series, 0.1), 1U);
}

}  // namespace
}  // namespace psgd
