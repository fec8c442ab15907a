#include "libpsgd/replay/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libpsgd/base/error.hpp"
#include "libpsgd/replay/paste.hpp"

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

TEST(Advice, BytesAreThoseThatHooksSend) {
  ReplaySpec base;
  base.files = {std::filesystem::path(PSGD_SOURCE_DIR) / "datasets" / "digits-vit.h5"};
  base.threads = 2;
  base.baseline.fraction = 0.1;
  Grid grid;
  grid.hook = {"powersgd", "batched", "none", "float16", "top-k", "powersgd-alternating"};
  grid.matrix_approximation_rank = {4};
  const SweepResult sweep = run_sweep(expand(base, grid));
  const Advice advice = advise(sweep, with_network(1e9));
  const auto bytes = [&](std::size_t i) { return advice.configurations[i].bytes_per_step; };
  EXPECT_DOUBLE_EQ(bytes(2), 4.0 * 40106);
  EXPECT_DOUBLE_EQ(bytes(3), 2.0 * 40106);
  double kept = 0;
  for (const ReplayedParameter& parameter : sweep.parameters)
    kept += std::max(1.0, std::floor(0.1 * static_cast<double>(parameter.numel)));
  EXPECT_DOUBLE_EQ(bytes(4), 8 * kept);  // a value and an index each
  EXPECT_LT(bytes(5), bytes(0));         // one factor a step
  for (const auto& bucket : sweep.configurations[4].buckets) {
    EXPECT_EQ(bucket.p_bytes, 0);
    EXPECT_GT(bucket.gathered_bytes, 0);
  }
  for (const auto& bucket : sweep.configurations[1].buckets) EXPECT_DOUBLE_EQ(bucket.p_bytes, bucket.q_bytes);
  for (const auto& bucket : sweep.configurations[5].buckets) EXPECT_EQ(bucket.q_bytes, 0);
  // P and Q of the layerwise hook by the shapes.
  double p = 0;
  double q = 0;
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    const auto rank = static_cast<double>(sweep.configurations[0].parameters[i].rank);
    p += 4 * rank * static_cast<double>(sweep.parameters[i].rows);
    q += 4 * rank * static_cast<double>(sweep.parameters[i].cols);
  }
  for (const auto& bucket : sweep.configurations[0].buckets) {
    p -= bucket.p_bytes;
    q -= bucket.q_bytes;
  }
  EXPECT_NEAR(p, 0, 1e-6);
  EXPECT_NEAR(q, 0, 1e-6);
  EXPECT_FALSE(advice.configurations[2].break_even_bandwidth);  // nothing is compressed
}

TEST(Advice, LayersBreakEvenWhereTheirTimeOnTheWireIsTheirTimeToCompress) {
  const SweepResult sweep = sweep_of_ranks();
  const Advice advice = advise(sweep, {});
  for (const JudgedConfiguration& judged : advice.configurations) {
    ASSERT_FALSE(judged.layers.empty());
    double seconds = 0;
    for (const JudgedLayer& layer : judged.layers) {
      // Two process ranks: a byte reduced crosses a link once.
      EXPECT_NEAR((layer.dense_bytes - layer.bytes) / layer.break_even_bandwidth.value(), layer.compress_seconds,
                  1e-12);
      seconds += layer.compress_seconds;
    }
    EXPECT_NEAR(seconds, judged.compress_seconds, 1e-12);
  }
}

TEST(Advice, NamesRanksAboveEveryDimensionAndDoesNotAdviseToSendNothing) {
  ReplaySpec base;
  base.files = {std::filesystem::path(PSGD_SOURCE_DIR) / "datasets" / "digits-vit.h5"};
  base.threads = 2;
  Grid grid;
  grid.matrix_approximation_rank = {0, 1000};
  const Advice advice = advise(run_sweep(expand(base, grid)), {});
  EXPECT_FALSE(advice.recommended);
  EXPECT_THAT(advice.reasons, ::testing::Contains(HasSubstr("r=1000 compresses nothing")));
}

TEST(Advice, ANearestConfigurationIsNamedWhenNoneKeepsABudget) {
  const SweepResult sweep = sweep_of_ranks();
  AdviceOptions options;
  options.byte_budget = 10;
  const Advice bytes = advise(sweep, options);
  EXPECT_FALSE(bytes.recommended);
  EXPECT_THAT(bytes.reasons, ::testing::Contains(HasSubstr("the nearest is r=1")));
  AdviceOptions error;
  error.error_budget = 1e-9;
  EXPECT_THAT(advise(sweep, error).reasons, ::testing::Contains(HasSubstr("the nearest is r=8")));
}

TEST(Advice, PastesWhatTheHookIsCalledThere) {
  ReplaySpec spec;
  spec.power_sgd.matrix_approximation_rank = 2;
  EXPECT_EQ(pytorch_lines(spec),
            "model.register_comm_hook(PowerSGDState(process_group=None, matrix_approximation_rank=2, "
            "start_powerSGD_iter=2), powerSGD_hook)");
  spec.hook = "powersgd-alternating";
  EXPECT_EQ(pytorch_lines(spec), "");
  EXPECT_EQ(epfml_lines(spec),
            "Config(rank=2, min_compression_rate=2, num_iters_per_step=1, start_compressing_after_num_steps=2)");
  spec.hook = "float16";
  EXPECT_EQ(pytorch_lines(spec), "model.register_comm_hook(None, fp16_compress_hook)");
  EXPECT_EQ(epfml_lines(spec), "");
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
