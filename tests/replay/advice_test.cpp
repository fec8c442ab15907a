#include "libpsgd/replay/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libpsgd/base/error.hpp"

namespace psgd::replay {
namespace {

using ::testing::HasSubstr;

SweepResult sweep_of_ranks() {
  ReplaySpec base;
  base.files = {std::filesystem::path(PSGD_SOURCE_DIR) / "datasets" / "digits-vit.h5"};
  base.threads = 2;
  Grid grid;
  grid.matrix_approximation_rank = {1, 2, 4, 8};
  return run_sweep(expand(base, grid));
}

AdviceOptions with_network(double bandwidth) {
  AdviceOptions options;
  options.cluster = model::Cluster{{1e-6, 1 / bandwidth}, model::Algorithm::ring, 8, 0, 0};
  return options;
}

TEST(Advice, FrontHoldsWhatNothingBeats) {
  const SweepResult sweep = sweep_of_ranks();
  const Advice advice = advise(sweep, {});
  ASSERT_EQ(advice.configurations.size(), 4U);
  EXPECT_DOUBLE_EQ(advice.dense_bytes, 4.0 * 40106);
  for (const JudgedConfiguration& judged : advice.configurations) {
    EXPECT_DOUBLE_EQ(
        judged.bytes_per_step,
        4.0 * static_cast<double>(sweep.configurations[judged.index].summary.compression_stats.numel_after) / 10);
    EXPECT_FALSE(judged.time);
  }
  EXPECT_TRUE(advice.configurations.front().on_front);  // the fewest bytes
  ASSERT_TRUE(advice.recommended);
  EXPECT_THAT(advice.pytorch, HasSubstr("matrix_approximation_rank="));
  EXPECT_FALSE(advice.reasons.empty());
}

TEST(Advice, RecommendsNothingWhereTheNetworkIsFast) {
  const Advice advice = advise(sweep_of_ranks(), with_network(1e15));
  EXPECT_FALSE(advice.recommended);
  EXPECT_TRUE(advice.pytorch.empty());
  ASSERT_TRUE(advice.dense);
}

TEST(Advice, RecommendsSomethingWhereTheNetworkIsSlow) {
  const Advice advice = advise(sweep_of_ranks(), with_network(1e5));
  ASSERT_TRUE(advice.recommended);
  for (const JudgedConfiguration& judged : advice.configurations) {
    ASSERT_TRUE(judged.time);
    EXPECT_LT(judged.time->without_overlap, advice.dense->without_overlap);
    EXPECT_GT(judged.break_even_bandwidth.value(), 1e5);
  }
}

TEST(Advice, PlanKeepsTheBudgetOrSaysThatNobodyCan) {
  const SweepResult sweep = sweep_of_ranks();
  AdviceOptions options;
  options.byte_budget = 20000;
  const Advice within = advise(sweep, options);
  ASSERT_TRUE(within.plan);
  EXPECT_TRUE(within.plan->meets_budget);
  EXPECT_LE(within.plan->bytes, 20000);
  double bytes = 0;
  for (const LayerPlan& layer : within.plan->layers) bytes += layer.bytes;
  EXPECT_DOUBLE_EQ(bytes, within.plan->bytes);

  options.byte_budget = 100;
  const Advice beyond = advise(sweep, options);
  EXPECT_FALSE(beyond.plan->meets_budget);
  EXPECT_GT(beyond.plan->bytes, 100);

  AdviceOptions exact;
  exact.error_budget = 1e-9;  // only uncompressed gradients are that good
  const Advice dense = advise(sweep, exact);
  ASSERT_TRUE(dense.plan);
  EXPECT_TRUE(dense.plan->meets_budget);
  EXPECT_DOUBLE_EQ(dense.plan->bytes, dense.dense_bytes);
}

TEST(Advice, RefusesBudgetsAndNetworksThatMakeNoSense) {
  const SweepResult sweep = sweep_of_ranks();
  AdviceOptions options;
  options.byte_budget = -1;
  EXPECT_THROW(advise(sweep, options), Error);
  AdviceOptions network = with_network(1e9);
  network.cluster->network.alpha = -1;
  EXPECT_THROW(advise(sweep, network), Error);
  EXPECT_THROW(advise(SweepResult{}, {}), Error);
}

TEST(Advice, WritesConfigurationsToPaste) {
  compress::PowerSGDOptions options;
  options.matrix_approximation_rank = 4;
  options.start_powerSGD_iter = 1000;
  options.use_error_feedback = false;
  EXPECT_EQ(pytorch_state(options),
            "PowerSGDState(process_group=None, matrix_approximation_rank=4, start_powerSGD_iter=1000, "
            "use_error_feedback=False)");
  EXPECT_EQ(epfml_config(options),
            "Config(rank=4, min_compression_rate=2, num_iters_per_step=2, start_compressing_after_num_steps=1000)");
}

}  // namespace
}  // namespace psgd::replay
