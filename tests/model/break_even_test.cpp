#include "libpsgd/model/break_even.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace psgd::model {
namespace {

/// A ring all-reduce, message by message: p members, each of whose p chunks goes round twice. A message leaves when its
/// sender has the chunk and its link is free, and arrives α + β·chunk later. Returns when the last member has
/// everything.
double simulate_ring(const Network& network, std::int64_t members, double bytes) {
  const auto p = static_cast<std::size_t>(members);
  if (p < 2 || bytes <= 0) return 0;
  const double message = network.alpha + network.beta * bytes / static_cast<double>(p);
  std::vector<double> ready(p, 0.0);  // when a member may send the chunk it received last
  for (std::size_t round = 0; round < 2 * (p - 1); ++round) {
    std::vector<double> arrived(p);
    for (std::size_t member = 0; member < p; ++member) {
      const std::size_t next = (member + 1) % p;
      arrived[next] = std::max(ready[member], ready[next]) + message;
    }
    ready = arrived;
  }
  return *std::max_element(ready.begin(), ready.end());
}

/// A ring all-gather likewise.
double simulate_gather(const Network& network, std::int64_t members, double bytes) {
  if (members < 2 || bytes <= 0) return 0;
  double now = 0;
  for (std::int64_t round = 1; round < members; ++round) now += network.alpha + network.beta * bytes;
  return now;
}

/// A step without overlap, collective after collective.
double simulate_step(const std::vector<BucketCost>& buckets, const Cluster& cluster, bool compressed) {
  double now = cluster.forward_seconds + cluster.backward_seconds;
  for (const BucketCost& bucket : buckets) {
    const auto reduce = [&](double bytes) { now += simulate_ring(cluster.network, cluster.process_ranks, bytes); };
    if (!compressed) {
      reduce(bucket.dense_bytes);
      continue;
    }
    now += bucket.compress_seconds;
    for (const double bytes : {bucket.uncompressed_bytes, bucket.p_bytes, bucket.q_bytes}) reduce(bytes);
    now += simulate_gather(cluster.network, cluster.process_ranks, bucket.gathered_bytes);
  }
  return now;
}

/// A step with overlap: a device that computes and compresses, and one channel that takes collectives in order.
double simulate_overlap(const std::vector<BucketCost>& buckets, const Cluster& cluster, bool compressed) {
  double device = cluster.forward_seconds;
  double channel = 0;
  for (const BucketCost& bucket : buckets) {
    device += cluster.backward_seconds / static_cast<double>(buckets.size());
    if (compressed) device += bucket.compress_seconds;
    channel = std::max(channel, device);
    Cluster alone = cluster;
    alone.forward_seconds = alone.backward_seconds = 0;
    BucketCost sent = bucket;
    sent.compress_seconds = 0;
    channel += simulate_step({sent}, alone, compressed);
  }
  return std::max(device, channel);
}

std::vector<BucketCost> random_buckets(std::mt19937& engine, bool gathers) {
  std::uniform_real_distribution<double> share(0.001, 0.2);
  std::uniform_real_distribution<double> exponent(4, 8);
  std::vector<BucketCost> buckets(std::uniform_int_distribution<std::size_t>(1, 6)(engine));
  for (BucketCost& bucket : buckets) {
    bucket.dense_bytes = std::pow(10, exponent(engine));
    bucket.uncompressed_bytes = bucket.dense_bytes * share(engine);
    if (gathers) {
      bucket.gathered_bytes = bucket.dense_bytes * share(engine) * 0.1;
    } else {
      bucket.p_bytes = bucket.dense_bytes * share(engine);
      bucket.q_bytes = bucket.dense_bytes * share(engine);
    }
    bucket.compress_seconds = bucket.dense_bytes * 1e-10;
  }
  return buckets;
}

Cluster random_cluster(std::mt19937& engine) {
  std::uniform_real_distribution<double> exponent(7, 11);
  Cluster cluster;
  cluster.network = {std::pow(10, std::uniform_real_distribution<double>(-7, -4)(engine)),
                     std::pow(10, -exponent(engine))};
  cluster.process_ranks = std::uniform_int_distribution<std::int64_t>(2, 40)(engine);
  cluster.forward_seconds = 0.01;
  cluster.backward_seconds = 0.02;
  return cluster;
}

bool pays(const std::vector<BucketCost>& buckets, const Cluster& cluster) {
  return simulate_step(buckets, cluster, true) < simulate_step(buckets, cluster, false);
}

TEST(Simulation, TakesWhatTheModelPredicts) {
  std::mt19937 engine(1);
  for (int trial = 0; trial < 100; ++trial) {
    const auto buckets = random_buckets(engine, trial % 2 == 1);
    const Cluster cluster = random_cluster(engine);
    const StepTime dense = dense_step(buckets, cluster);
    const StepTime compressed = compressed_step(buckets, cluster);
    const double tolerance = 1e-9;
    EXPECT_NEAR(simulate_step(buckets, cluster, false) / dense.without_overlap, 1, tolerance);
    EXPECT_NEAR(simulate_step(buckets, cluster, true) / compressed.without_overlap, 1, tolerance);
    EXPECT_NEAR(simulate_overlap(buckets, cluster, false) / dense.with_overlap, 1, tolerance);
    EXPECT_NEAR(simulate_overlap(buckets, cluster, true) / compressed.with_overlap, 1, tolerance);
  }
}

TEST(BreakEven, BandwidthIsWhereTheSimulationTurns) {
  std::mt19937 engine(2);
  int found = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const auto buckets = random_buckets(engine, trial % 2 == 1);
    Cluster cluster = random_cluster(engine);
    const std::optional<double> bandwidth = break_even_bandwidth(buckets, cluster);
    if (!bandwidth) {
      for (const double beta : {1e-7, 1e-9, 1e-12}) {
        cluster.network.beta = beta;
        EXPECT_FALSE(pays(buckets, cluster));
      }
      continue;
    }
    ++found;
    cluster.network.beta = 1 / (*bandwidth * 0.99);
    EXPECT_TRUE(pays(buckets, cluster));
    cluster.network.beta = 1 / (*bandwidth * 1.01);
    EXPECT_FALSE(pays(buckets, cluster));
  }
  EXPECT_GT(found, 50);
}

TEST(BreakEven, ProcessRanksAreThoseWithWhichTheSimulationGains) {
  std::mt19937 engine(3);
  constexpr std::int64_t limit = 40;
  int bounded = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const auto buckets = random_buckets(engine, trial % 2 == 1);
    Cluster cluster = random_cluster(engine);
    cluster.network.alpha *= 10;  // so that some ranges end within the limit
    const auto range = break_even_process_ranks(buckets, cluster, limit);
    for (std::int64_t p = 2; p <= limit; ++p) {
      cluster.process_ranks = p;
      const double gain = simulate_step(buckets, cluster, false) - simulate_step(buckets, cluster, true);
      if (std::abs(gain) < 1e-12) continue;  // the simulation's own rounding
      const bool inside = range && p >= range->first && p <= range->last.value_or(limit);
      EXPECT_EQ(gain > 0, inside) << p;
    }
    bounded += range && range->last ? 1 : 0;
  }
  EXPECT_GE(bounded, 3);
}

TEST(BreakEven, TreeRanksAreThoseWithWhichTheModelGains) {
  std::mt19937 engine(4);
  for (int trial = 0; trial < 60; ++trial) {
    const auto buckets = random_buckets(engine, false);
    Cluster cluster = random_cluster(engine);
    cluster.algorithm = Algorithm::tree;
    const auto range = break_even_process_ranks(buckets, cluster, 300);
    for (std::int64_t p = 2; p <= 300; ++p) {
      cluster.process_ranks = p;
      const bool gains =
          compressed_step(buckets, cluster).without_overlap < dense_step(buckets, cluster).without_overlap;
      EXPECT_EQ(gains, range && p >= range->first && p <= range->last.value_or(300)) << p;
    }
  }
}

TEST(BreakEven, NeverPaysWhenCompressionEnlarges) {
  const std::vector<BucketCost> larger{{100, 0, 80, 80, 0, 1e-3}};
  Cluster cluster;
  cluster.network = {1e-5, 1e-9};
  cluster.process_ranks = 8;
  EXPECT_FALSE(break_even_bandwidth(larger, cluster));
  EXPECT_FALSE(break_even_process_ranks(larger, cluster, 100));
}

TEST(BreakEven, AlwaysPaysWhenCompressionIsFree) {
  const std::vector<BucketCost> free{{100, 0, 10, 0, 0, 0}};
  Cluster cluster;
  cluster.network = {1e-5, 1e-9};
  cluster.process_ranks = 8;
  EXPECT_TRUE(std::isinf(break_even_bandwidth(free, cluster).value()));
  const auto range = break_even_process_ranks(free, cluster);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 2);
  EXPECT_FALSE(range->last);
}

}  // namespace
}  // namespace psgd::model
