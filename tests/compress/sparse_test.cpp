#include "libpsgd/compress/sparse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libpsgd/base/error.hpp"
#include "tests/compress/job.hpp"

namespace psgd {
namespace {

using compress::HookOptions;
using compress::sparse_count;
using test::Job;
using test::Members;

HookOptions sparse_options(double fraction, bool error_feedback) {
  HookOptions options = test::hook_options(1);
  options.power_sgd.start_powerSGD_iter = 0;
  options.power_sgd.use_error_feedback = error_feedback;
  options.baseline.fraction = fraction;
  return options;
}

TEST(Sparse, SendsAtLeastOneElement) {
  EXPECT_EQ(sparse_count(0, 0.5), 0);
  EXPECT_EQ(sparse_count(1, 0.01), 1);
  EXPECT_EQ(sparse_count(99, 0.01), 1);
  EXPECT_EQ(sparse_count(1000, 0.01), 10);
  EXPECT_EQ(sparse_count(7, 1), 7);
}

TEST(Sparse, RefusesFractionsOutsideItsRange) {
  for (const double fraction : {0.0, -0.1, 1.5, std::nan("")}) {
    for (const char* hook : {"top-k", "random-k"}) {
      EXPECT_THROW(Job<float>(hook, sparse_options(fraction, true), {{5}}, 1, Members::per_rank), Error)
          << hook << fraction;
    }
  }
}

TEST(TopK, SendsExactlyTheLargest) {
  for (const std::int64_t size : {1, 2, 17, 101, 997}) {
    Job<double> job("top-k", sparse_options(0.13, false), {{size}}, 1, Members::per_rank);
    job.set_random_gradients(static_cast<unsigned>(size));
    job.step();
    std::vector<std::int64_t> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return std::abs(job.mean(a)) > std::abs(job.mean(b)); });
    const auto k = static_cast<std::size_t>(sparse_count(size, 0.13));
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(job.averaged(order[i]), i < k ? job.mean(order[i]) : 0.0);
  }
}

TEST(TopK, TakesTheFirstOfEqualMagnitudes) {
  Job<float> job("top-k", sparse_options(0.5, true), {{8}}, 1, Members::per_rank);
  const std::vector<double> values{1, -2, 2, 2, -1, 2, 3, 0};
  std::size_t at = 0;
  job.set_gradients([&] { return values[at++]; });
  job.step();
  const std::vector<float> expected{0, -2, 2, 2, 0, 0, 3, 0};
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(job.averaged(i), expected[static_cast<std::size_t>(i)]) << i;
  EXPECT_EQ(job.error(0, job.layout().buckets[0], 5), 2);
}

TEST(TopK, AveragesWhatEachRankChose) {
  Job<double> job("top-k", sparse_options(0.25, true), {{4}}, 2, Members::per_rank);
  const std::vector<double> values{5,  0, 1, 0,
                                   -1, 7, 0, 0};  // element by element, rank by rank: (5, 0), (1, 0), (−1, 7), (0, 0)
  std::size_t at = 0;
  job.set_gradients([&] { return values[at++]; });
  job.step();
  EXPECT_EQ(job.averaged(0), 2.5);
  EXPECT_EQ(job.averaged(1), 0);
  EXPECT_EQ(job.averaged(2), 3.5);
  EXPECT_EQ(job.error(0, job.layout().buckets[0], 1), 1);
  EXPECT_EQ(job.error(0, job.layout().buckets[0], 2), -1);
}

TEST(TopK, CountsIndices) {
  Job<float> job("top-k", sparse_options(0.1, true), {{50, 20}, {9}}, 2, Members::per_rank);
  job.set_random_gradients(1);
  job.step();
  EXPECT_EQ(job.hook().outcome(0).tensors[0].bytes_sent, 100 * (4 + 4));
  EXPECT_EQ(job.hook().outcome(0).tensors[1].bytes_sent, 1 * (4 + 4));
  Job<double> in_double("top-k", sparse_options(0.1, true), {{50, 20}}, 2, Members::per_rank);
  in_double.set_random_gradients(1);
  in_double.step();
  EXPECT_EQ(in_double.hook().outcome(0).bytes_sent, 100 * (8 + 4));
}

TEST(RandomK, ChoosesTheSameElementsOnAllRanks) {
  Job<double> job("random-k", sparse_options(0.2, true), {{211}}, 3, Members::per_rank);
  job.set_random_gradients(3);
  job.step();
  int sent = 0;
  for (std::int64_t i = 0; i < 211; ++i) {
    const bool here = job.averaged(i) != 0;
    sent += here ? 1 : 0;
    for (std::size_t rank = 0; rank < 3; ++rank)
      EXPECT_EQ(job.error(rank, job.layout().buckets[0], i), here ? 0.0 : job.gradient(rank, i));
  }
  EXPECT_EQ(sent, 42);
  EXPECT_EQ(job.hook().outcome(0).bytes_sent, 42 * 8);
}

TEST(RandomK, IsLinear) {
  Job<double> fused("random-k", sparse_options(0.1, true), {{40, 30}, {17}}, 4, Members::fused);
  Job<double> per_rank("random-k", sparse_options(0.1, true), {{40, 30}, {17}}, 4, Members::per_rank);
  for (unsigned step = 0; step < 5; ++step) {
    fused.set_random_gradients(step);
    per_rank.set_random_gradients(step);
    fused.step();
    per_rank.step();
    for (std::int64_t i = 0; i < fused.layout().buckets[0].length; ++i)
      ASSERT_NEAR(fused.averaged(i), per_rank.averaged(i), 1e-13);
  }
}

/// Each element arrives in k of n steps on average, and the scaled output has the gradient as its mean: 5 standard
/// errors.
TEST(RandomK, IsUnbiasedWithoutErrorFeedback) {
  constexpr int steps = 4000;
  constexpr std::int64_t size = 37;
  Job<double> job("random-k", sparse_options(0.3, false), {{size}}, 2, Members::per_rank);
  job.set_random_gradients(9);
  const auto k = static_cast<double>(sparse_count(size, 0.3));
  std::vector<double> sums(size, 0.0);
  std::vector<int> arrived(size, 0);
  for (int step = 0; step < steps; ++step) {
    job.step();
    for (std::int64_t i = 0; i < size; ++i) {
      sums[static_cast<std::size_t>(i)] += job.averaged(i);
      arrived[static_cast<std::size_t>(i)] += job.averaged(i) != 0 ? 1 : 0;
    }
  }
  const double share = k / static_cast<double>(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(arrived[at], steps * share, 5 * std::sqrt(steps * share * (1 - share))) << i;
    EXPECT_NEAR(sums[at] / steps, job.mean(i), 5 * std::abs(job.mean(i)) * std::sqrt((1 / share - 1) / steps)) << i;
  }
}

}  // namespace
}  // namespace psgd
