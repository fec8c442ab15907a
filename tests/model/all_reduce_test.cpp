#include "libpsgd/model/all_reduce.hpp"

#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"

namespace psgd::model {
namespace {

constexpr Network network{5e-6, 1e-9};

TEST(AllReduce, RingIsTheClosedForm) {
  EXPECT_DOUBLE_EQ(all_reduce_seconds(Algorithm::ring, network, 8, 1e6), 14 * 5e-6 + 2 * 7.0 / 8 * 1e6 * 1e-9);
}

TEST(AllReduce, TreeIsTheClosedForm) {
  EXPECT_DOUBLE_EQ(all_reduce_seconds(Algorithm::tree, network, 8, 1e6), 6 * 5e-6 + 2 * 1e6 * 1e-9);
  EXPECT_DOUBLE_EQ(all_reduce_messages(Algorithm::tree, 9), 8);  // ceil(log2 9) = 4
  EXPECT_DOUBLE_EQ(all_reduce_messages(Algorithm::tree, 2), 2);
}

TEST(AllGather, IsTheClosedForm) {
  EXPECT_DOUBLE_EQ(all_gather_seconds(Algorithm::ring, network, 8, 1e6), 7 * 5e-6 + 7 * 1e6 * 1e-9);
  EXPECT_DOUBLE_EQ(all_gather_seconds(Algorithm::tree, network, 8, 1e6), 3 * 5e-6 + 7 * 1e6 * 1e-9);
  EXPECT_EQ(all_gather_seconds(Algorithm::ring, network, 1, 1e6), 0);
  EXPECT_EQ(all_gather_seconds(Algorithm::tree, network, 8, 0), 0);
}

TEST(AllReduce, CostsNothingAloneOrEmpty) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
    EXPECT_EQ(all_reduce_seconds(algorithm, network, 1, 1e6), 0);
    EXPECT_EQ(all_reduce_seconds(algorithm, network, 8, 0), 0);
  }
}

TEST(BusBandwidth, IsAsNcclTestsDefinesIt) { EXPECT_DOUBLE_EQ(bus_bandwidth(4, 1e9, 0.5), 1e9 / 0.5 * 1.5); }

TEST(Network, IsChecked) {
  EXPECT_THROW(check({-1, 1e-9}), Error);
  EXPECT_THROW(check({0, -1e-9}), Error);
  EXPECT_THROW(check({0, 0}), Error);
  EXPECT_NO_THROW(check({0, 1e-9}));
}

TEST(Algorithm, HasNames) {
  EXPECT_EQ(algorithm_from_string("tree"), Algorithm::tree);
  EXPECT_THROW(algorithm_from_string("star"), Error);
}

}  // namespace
}  // namespace psgd::model
