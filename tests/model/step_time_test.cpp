#include "libpsgd/model/step_time.hpp"

#include <gtest/gtest.h>

namespace psgd::model {
namespace {

std::vector<BucketCost> example() { return {{4e6, 1e4, 4e4, 3e4, 0, 1e-3}, {1e8, 0, 1e6, 5e5, 0, 1e-2}}; }

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
  const StepTime compressed = compressed_step(buckets, cluster);
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

}  // namespace
}  // namespace psgd::model
