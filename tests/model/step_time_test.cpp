#include "libpsgd/model/step_time.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "libpsgd/model/break_even.hpp"

namespace psgd::model {
namespace {

std::vector<BucketCost> example() { return {{4e6, 1e4, 4e4, 3e4, 1e-3}, {1e8, 0, 1e6, 5e5, 1e-2}}; }

Cluster cluster_of(double bandwidth, std::int64_t process_ranks) {
  Cluster cluster;
  cluster.network = {1e-5, 1 / bandwidth};
  cluster.process_ranks = process_ranks;
  cluster.forward_seconds = 0.05;
  cluster.backward_seconds = 0.1;
  return cluster;
}

TEST(StepTime, AddsUpWithoutOverlap) {
  const auto buckets = example();
  const Cluster cluster = cluster_of(1e9, 4);
  const StepTime dense = dense_step(buckets, cluster);
  EXPECT_DOUBLE_EQ(dense.communication, 2 * 6 * 1e-5 + 1.5 * (4e6 + 1e8) / 1e9);
  EXPECT_DOUBLE_EQ(dense.without_overlap, 0.15 + dense.communication);
  EXPECT_EQ(dense.compression, 0);
  const StepTime compressed = power_sgd_step(buckets, cluster);
  EXPECT_DOUBLE_EQ(compressed.communication, 5 * 6 * 1e-5 + 1.5 * (1e4 + 7e4 + 1.5e6) / 1e9);
  EXPECT_DOUBLE_EQ(compressed.without_overlap, 0.15 + 0.011 + compressed.communication);
}

TEST(StepTime, OverlapHidesAllButTheTail) {
  const auto buckets = example();
  const Cluster cluster = cluster_of(1e12, 4);  // so fast that only the last bucket's messages remain
  const StepTime time = dense_step(buckets, cluster);
  EXPECT_NEAR(time.with_overlap, 0.15 + bucket_communication(buckets[1], cluster, false), 1e-12);
  const Cluster slow = cluster_of(1e8, 4);  // so slow that the channel never rests
  EXPECT_NEAR(dense_step(buckets, slow).with_overlap, 0.05 + 0.05 + dense_step(buckets, slow).communication, 1e-12);
}

TEST(BreakEven, BandwidthIsWhereBothTakeTheSame) {
  const auto buckets = example();
  Cluster cluster = cluster_of(1e9, 8);
  const auto bandwidth = break_even_bandwidth(buckets, cluster);
  ASSERT_TRUE(bandwidth);
  cluster.network.beta = 1 / *bandwidth;
  EXPECT_NEAR(dense_step(buckets, cluster).without_overlap, power_sgd_step(buckets, cluster).without_overlap, 1e-12);
  cluster.network.beta = 1.01 / *bandwidth;
  EXPECT_LT(power_sgd_step(buckets, cluster).without_overlap, dense_step(buckets, cluster).without_overlap);
  cluster.network.beta = 0.99 / *bandwidth;
  EXPECT_GT(power_sgd_step(buckets, cluster).without_overlap, dense_step(buckets, cluster).without_overlap);
}

TEST(BreakEven, NeverPaysWhenCompressionEnlarges) {
  const std::vector<BucketCost> larger{{100, 0, 80, 80, 1e-3}};
  EXPECT_FALSE(break_even_bandwidth(larger, cluster_of(1e9, 8)));
  EXPECT_FALSE(break_even_process_ranks(larger, cluster_of(1e9, 8), 100));
}

TEST(BreakEven, AlwaysPaysWhenCompressionIsFree) {
  const std::vector<BucketCost> free{{100, 0, 10, 0, 0}};
  EXPECT_TRUE(std::isinf(break_even_bandwidth(free, cluster_of(1e9, 8)).value()));
}

TEST(BreakEven, ProcessRanksAreTheFirstThatGain) {
  const auto buckets = example();
  Cluster cluster = cluster_of(6e9, 8);
  const auto ranks = break_even_process_ranks(buckets, cluster, 4096);
  ASSERT_TRUE(ranks);
  cluster.process_ranks = *ranks;
  EXPECT_LT(power_sgd_step(buckets, cluster).without_overlap, dense_step(buckets, cluster).without_overlap);
  if (*ranks > 2) {
    cluster.process_ranks = *ranks - 1;
    EXPECT_GE(power_sgd_step(buckets, cluster).without_overlap, dense_step(buckets, cluster).without_overlap);
  }
}

}  // namespace
}  // namespace psgd::model
