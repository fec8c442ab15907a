#include "libpsgd/replay/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/replay/document.hpp"

namespace psgd::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ReplaySpec digits() {
  ReplaySpec spec;
  spec.files = {std::filesystem::path(PSGD_SOURCE_DIR) / "datasets" / "digits-vit.h5"};
  spec.threads = 2;
  return spec;
}

template <class Action>
std::string usage_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(Grid, IsTheProductOfItsLists) {
  Grid grid;
  grid.matrix_approximation_rank = {1, 2};
  grid.warm_start = {true, false};
  const auto specs = expand(digits(), grid);
  EXPECT_THAT(labels(specs), ElementsAre("r=1 warm=on", "r=1 warm=off", "r=2 warm=on", "r=2 warm=off"));
}

TEST(Grid, KnobsThatAHookDoesNotKnowDoNotMultiplyIt) {
  Grid grid;
  grid.hook = {"powersgd", "none", "original"};
  grid.matrix_approximation_rank = {1, 2};
  grid.warm_start = {true, false};
  EXPECT_EQ(expand(digits(), grid).size(), 4U + 1U + 2U);
}

TEST(Grid, BaselinesTakeTheirOwnKnobsAndNoOthers) {
  Grid grid;
  grid.hook = {"powersgd", "top-k", "qsgd"};
  grid.matrix_approximation_rank = {1, 2};
  grid.fraction = {0.01, 0.1};
  grid.quantization_bits = {2, 8};
  const auto specs = expand(digits(), grid);
  EXPECT_THAT(labels(specs), ElementsAre("powersgd r=1", "powersgd r=2", "top-k fraction=0.01", "top-k fraction=0.1",
                                         "qsgd bits=2", "qsgd bits=8"));
  grid.hook = {"powersgd"};
  EXPECT_THAT(usage_error([&] { expand(digits(), grid); }), HasSubstr("--fraction has no meaning without"));
  grid.hook = {"top-k"};
  EXPECT_THAT(usage_error([&] { expand(digits(), grid); }), HasSubstr("--quantization-bits has no meaning without"));
  grid.quantization_bits = {};
  grid.fraction = {0};
  EXPECT_THAT(usage_error([&] { expand(digits(), grid); }), HasSubstr("(0, 1]"));
}

TEST(Grid, BaselinesKeepTheirStartAndErrorFeedback) {
  Grid grid;
  grid.hook = {"top-k"};
  grid.start_powerSGD_iter = {3};
  grid.use_error_feedback = {true, false};
  const auto specs = expand(digits(), grid);
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0].power_sgd.start_powerSGD_iter, 3);
  EXPECT_FALSE(specs[1].power_sgd.use_error_feedback);
}

TEST(Grid, NamesTheCombinationThatContradictsItself) {
  Grid grid;
  grid.start_powerSGD_iter = {1, 2};
  grid.use_error_feedback = {true, false};
  ReplaySpec base = digits();
  base.power_sgd.warm_start = false;
  EXPECT_THAT(usage_error([&] { expand(base, grid); }),
              HasSubstr("configuration start=1 feedback=on: Expect `start_powerSGD_iter` > 1"));
  grid = {};
  grid.matrix_approximation_rank = {1, 1};
  EXPECT_THAT(usage_error([&] { expand(base, grid); }), HasSubstr("names a value of matrix_approximation_rank twice"));
}

/// Everything a sweep says of a configuration, times aside.
std::string without_times(const Summary& summary) {
  Summary copy = summary;
  copy.seconds_per_step = copy.seconds_compressing = copy.seconds_read = copy.seconds_total = 0;
  return summary_json(copy).dump();
}

TEST(Sweep, EqualsSeparateReplaysBitForBit) {
  Grid grid;
  grid.hook = {"powersgd", "batched", "original", "none", "powersgd-alternating"};
  grid.matrix_approximation_rank = {1, 3, 4};
  grid.start_powerSGD_iter = {2, 4};
  grid.arithmetic = {Arithmetic::fused, Arithmetic::per_rank};
  const auto specs = expand(digits(), grid);
  const SweepResult sweep = run_sweep(specs);
  ASSERT_EQ(sweep.configurations.size(), specs.size());
  EXPECT_EQ(sweep.passes, 2U);  // padded and plain buckets
  for (std::size_t i = 0; i < specs.size(); ++i) {
    SCOPED_TRACE(sweep.configurations[i].label);
    const ReplayResult single = run_replay(specs[i]);
    EXPECT_EQ(without_times(sweep.configurations[i].summary), without_times(single.summary));
    for (std::size_t p = 0; p < single.parameters.size(); ++p) {
      const auto& last = single.records[single.records.size() - single.parameters.size() + p];
      EXPECT_EQ(sweep.configurations[i].parameters[p].last_residual_norms, last.residual_norms);
    }
  }
}

TEST(Sweep, BaselinesEqualSeparateReplaysToo) {
  Grid grid;
  grid.hook = {"float16", "bfloat16", "top-k", "random-k", "sign-norm", "qsgd", "svd", "acp-sgd"};
  grid.matrix_approximation_rank = {2};
  grid.fraction = {0.05};
  const auto specs = expand(digits(), grid);
  ASSERT_EQ(specs.size(), 8U);
  const SweepResult sweep = run_sweep(specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    SCOPED_TRACE(sweep.configurations[i].label);
    EXPECT_EQ(without_times(sweep.configurations[i].summary), without_times(run_replay(specs[i]).summary));
  }
}

TEST(Sweep, MakesSeveralPassesWhenMemoryIsShort) {
  Grid grid;
  grid.matrix_approximation_rank = {1, 2, 3};
  ReplaySpec base = digits();
  const SweepResult one = run_sweep(expand(base, grid));
  EXPECT_EQ(one.passes, 1U);
  // The fixed overhead and what two configurations need: K + W + 1 states and one step of two process ranks.
  const std::uint64_t model = 160 * 1024 + 512;
  base.memory_limit = (std::uint64_t{64} << 20) + (2 + 2 + 1 + 2) * model;
  const SweepResult several = run_sweep(expand(base, grid));
  EXPECT_EQ(several.passes, 2U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(without_times(one.configurations[i].summary), without_times(several.configurations[i].summary));
  }
}

TEST(Sweep, StoppedKeepsWholeConfigurationsOnly) {
  Grid grid;
  grid.hook = {"powersgd", "batched"};
  int looks = 0;
  const SweepResult result = run_sweep(expand(digits(), grid), {nullptr, nullptr, [&] { return ++looks > 15; }});
  EXPECT_FALSE(result.complete);
  ASSERT_EQ(result.configurations.size(), 1U);
  EXPECT_EQ(result.configurations[0].resolved.spec.hook, "powersgd");
  EXPECT_EQ(result.steps.size(), 12U);
}

TEST(Sweep, RefusesAnEmptyGrid) {
  EXPECT_THAT(usage_error([] { run_sweep({}); }), HasSubstr("empty"));
}

}  // namespace
}  // namespace psgd::replay
