#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "libpsgd/base/error.hpp"
#include "libpsgd/metrics/target_relative_error.hpp"
#include "libpsgd/replay/advice.hpp"
#include "libpsgd/replay/document.hpp"
#include "libpsgd/replay/spectrum_document.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/known_spectrum.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::replay {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t rows = 30;
constexpr std::size_t cols = 20;
const std::vector<double> sigma{8, 5, 3, 2, 1, 0.5, 0.25};

double tail_sq(std::size_t rank) {
  double sum = 0;
  for (std::size_t i = rank; i < sigma.size(); ++i) sum += sigma[i] * sigma[i];
  return sum;
}

double best_error(std::size_t rank) { return std::sqrt(tail_sq(rank) / tail_sq(0)); }

/// A float64 dump of two process ranks. "known" has the spectrum above in every step: rank 0 holds M + N, rank 1 M − N.
/// "other" is random and small.
class SpectrumSweep : public ::testing::Test {
 protected:
  SpectrumSweep() {
    std::mt19937 engine(5);
    matrix_ = test::matrix_with_spectrum(rows, cols, sigma, engine);
    std::normal_distribution<double> normal;
    noise_.resize(matrix_.size());
    for (double& value : noise_) value = normal(engine);
    builder_.add("known", {rows, cols}, DType::float64).add("other", {12, 9}, DType::float64);
    builder_.value = [this](std::size_t step, std::size_t rank, std::size_t parameter, std::size_t element) {
      if (parameter == 1) return std::sin(static_cast<double>(1 + element * 7 + step * 31 + rank * 3));
      return matrix_[element] + (rank == 0 ? 1 : -1) * noise_[element];
    };
  }

  [[nodiscard]] ReplaySpec write() {
    builder_.write(folder_ / "dump.h5");
    ReplaySpec spec;
    spec.files = {folder_ / "dump.h5"};
    spec.threads = 2;
    spec.power_sgd.min_compression_rate = 0.5;
    return spec;
  }

  static SweepRequest every(std::int64_t steps) {
    SweepRequest request;
    request.spectrum.every = steps;
    return request;
  }

  static std::vector<ReplaySpec> ranks(const ReplaySpec& base, std::vector<std::int64_t> values) {
    Grid grid;
    grid.matrix_approximation_rank = std::move(values);
    return expand(base, grid);
  }

  test::TemporaryDirectory folder_;
  test::DumpBuilder builder_;
  std::vector<double> matrix_;
  std::vector<double> noise_;
};

TEST_F(SpectrumSweep, FindsTheSpectrumThatTheGradientsWereMadeWith) {
  const SweepResult sweep = run_sweep(ranks(write(), {1, 2, 4}), {}, every(2));
  ASSERT_TRUE(sweep.spectrum);
  EXPECT_THAT(sweep.spectrum->steps, ::testing::ElementsAre(0, 2, 4));
  double sum = 0;
  for (const double value : sigma) sum += value;
  double entropy = 0;
  for (const double value : sigma) entropy -= value / sum * std::log(value / sum);
  double noise_sq = 0;
  for (const double value : noise_) noise_sq += value * value;

  int looked_at = 0;
  for (const SpectrumRow& row : sweep.spectrum->rows) {
    if (row.configuration || row.parameter != 0) continue;
    ++looked_at;
    EXPECT_TRUE(row.exact);
    ASSERT_EQ(row.values.size(), 8U);
    for (std::size_t i = 0; i < sigma.size(); ++i) EXPECT_NEAR(row.values[i], sigma[i], 1e-12);
    EXPECT_NEAR(row.values[7], 0, 1e-12);
    EXPECT_NEAR(row.stable_rank.value, tail_sq(0) / 64, 1e-12);
    EXPECT_NEAR(row.effective_rank.value, std::exp(entropy), 1e-9);
    ASSERT_EQ(row.optimal_errors.size(), 3U);
    EXPECT_NEAR(row.optimal_errors[0].value, best_error(1), 1e-12);
    EXPECT_NEAR(row.optimal_errors[1].value, best_error(2), 1e-12);
    EXPECT_NEAR(row.optimal_errors[2].value, best_error(4), 1e-12);
    EXPECT_NEAR(row.rank_spread, std::sqrt(noise_sq / tail_sq(0)), 1e-10);
    if (row.step > 0) {
      EXPECT_EQ(row.drift_dimension, 4);
      EXPECT_NEAR(row.drift, 0, 1e-12);
    }
  }
  EXPECT_EQ(looked_at, 3);
}

TEST_F(SpectrumSweep, WarmStartsOnOneMatrixReachTheBestPossible) {
  builder_.steps.resize(14);
  for (std::size_t i = 0; i < builder_.steps.size(); ++i) builder_.steps[i] = static_cast<std::int64_t>(i);
  ReplaySpec base = write();
  base.power_sgd.use_error_feedback = false;
  const SweepResult sweep = run_sweep(ranks(base, {1, 2, 4}), {}, every(1));
  double last = 0;
  for (const SpectrumRow& row : sweep.spectrum->rows) {
    if (!row.configuration || row.parameter != 0) continue;
    EXPECT_GE(row.gap.value, 1 - 1e-9);
    const std::size_t rank = std::size_t{1} << *row.configuration;
    EXPECT_NEAR(row.relative_error / row.gap.value, best_error(rank), 1e-12);
    if (row.step == 13) last = std::max(last, row.gap.value);
  }
  EXPECT_LT(last, 1.001);
  EXPECT_GE(last, 1 - 1e-9);
}

TEST_F(SpectrumSweep, TargetsAreGradientPlusErrorMemory) {
  const ReplaySpec base = write();
  for (const Arithmetic arithmetic : {Arithmetic::fused, Arithmetic::per_rank}) {
    ReplaySpec spec = base;
    spec.arithmetic = arithmetic;
    spec.power_sgd.matrix_approximation_rank = 2;
    const SweepResult sweep = run_sweep({spec}, {}, every(1));
    ReplaySpec fused = spec;
    fused.arithmetic = Arithmetic::fused;
    const ReplayResult replay = run_replay(fused);
    int compared = 0;
    for (const SpectrumRow& row : sweep.spectrum->rows) {
      if (!row.configuration) continue;
      for (const ParameterRecord& record : replay.records) {
        if (record.step != row.step || record.parameter != row.parameter) continue;
        ++compared;
        EXPECT_EQ(row.rank, 2);
        EXPECT_NEAR(row.norm, std::sqrt(record.measurement.target_sq), 1e-9);
        EXPECT_NEAR(row.relative_error, metrics::target_relative_error(record.measurement), 1e-9);
        EXPECT_NEAR(row.residual_norm, std::sqrt(record.measurement.residual_sq), 1e-9);
        // Where both errors are rounding, their ratio says nothing.
        EXPECT_GE(row.relative_error, row.relative_error / row.gap.value - 1e-12);
        if (row.step == 2) {
          EXPECT_DOUBLE_EQ(row.residual_growth, 1);
        }
      }
    }
    EXPECT_EQ(compared, 6);  // two parameters in the three steps after the start
  }
}

TEST_F(SpectrumSweep, LooksWithoutChangingWhatItLooksAt) {
  Grid grid;
  grid.hook = {"powersgd", "batched", "top-k", "svd", "none"};
  grid.matrix_approximation_rank = {1, 3};
  const auto specs = expand(write(), grid);
  const SweepResult with = run_sweep(specs, {}, every(2));
  const SweepResult without = run_sweep(specs);
  EXPECT_FALSE(without.spectrum);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_EQ(with.configurations[i].parameters[p].mean_difference_sq,
                without.configurations[i].parameters[p].mean_difference_sq);
    }
    EXPECT_EQ(with.configurations[i].parameters[0].last_residual_norms,
              without.configurations[i].parameters[0].last_residual_norms);
  }
  // The mean gradient once, whatever the number of passes and configurations.
  std::size_t gradients = 0;
  for (const SpectrumRow& row : with.spectrum->rows) gradients += row.configuration ? 0 : 1;
  EXPECT_EQ(with.passes, 2U);
  EXPECT_EQ(gradients, 3U * 2);
}

TEST_F(SpectrumSweep, RandomizedBoundsHoldTheTruth) {
  SweepRequest request = every(1);
  request.spectrum.exact_limit = 1;
  request.spectrum.values = 2;
  const SweepResult sweep = run_sweep(ranks(write(), {1, 2}), {}, request);
  int randomized = 0;
  for (const SpectrumRow& row : sweep.spectrum->rows) {
    if (row.configuration || row.parameter != 0) continue;
    randomized += row.exact ? 0 : 1;
    EXPECT_LE(row.optimal_errors[0].lower, best_error(1) + 1e-12);
    EXPECT_GE(row.optimal_errors[0].upper, best_error(1) - 1e-12);
    EXPECT_LE(row.values[0], 8 + 1e-9);
    EXPECT_GE(std::hypot(row.values[0], row.rest), 8 - 1e-9);
  }
  EXPECT_EQ(randomized, 5);
}

TEST_F(SpectrumSweep, AParameterThatIsNotFiniteIsReportedAndTheRestGoesOn) {
  const auto sound = builder_.value;
  builder_.value = [sound](std::size_t step, std::size_t rank, std::size_t parameter, std::size_t element) {
    if (step == 2 && parameter == 1 && element == 5) return std::numeric_limits<double>::quiet_NaN();
    return sound(step, rank, parameter, element);
  };
  const SweepResult sweep = run_sweep(ranks(write(), {1, 2}), {}, every(1));
  int bad = 0;
  for (const SpectrumRow& row : sweep.spectrum->rows) {
    if (row.parameter == 0) {
      EXPECT_TRUE(row.finite);
    }
    if (row.parameter == 1 && !row.configuration) {
      EXPECT_EQ(row.finite, row.step != 2);
      bad += row.finite ? 0 : 1;
    }
  }
  EXPECT_EQ(bad, 1);
  const auto json = spectrum_json(sweep);
  EXPECT_EQ(json["parameters"][0]["finite"], true);
  EXPECT_EQ(json["parameters"][1]["finite"], false);
  AdviceOptions options;
  options.error_budget = 0.9;
  const Advice advice = advise(sweep, options);
  EXPECT_THAT(advice.not_finite, ::testing::ElementsAre(1));
  EXPECT_TRUE(std::isfinite(advice.configurations[0].relative_error));
  EXPECT_TRUE(advice.configurations[0].on_front || advice.configurations[1].on_front);
  ASSERT_TRUE(advice.plan);
  EXPECT_EQ(advice.plan->layers[1].rank, 0);
  EXPECT_GT(advice.plan->layers[0].rank, 0);
}

TEST_F(SpectrumSweep, TooFewStepsForASuggestionAreAnError) {
  SweepRequest request = every(1);
  request.spectrum.suggest_start = true;
  try {
    run_sweep(ranks(write(), {1}), {}, request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), HasSubstr("5 of 5 would be analysed, and 8 are needed"));
  }
}

/// The known matrix fades in under a constant background, so that its share is settled from step 5 on.
class SettlingSweep : public SpectrumSweep {
 protected:
  SettlingSweep() {
    builder_.steps.clear();
    for (std::int64_t step = 0; step < 20; ++step) builder_.steps.push_back(100 + step);
    const auto sound = builder_.value;
    builder_.value = [sound](std::size_t step, std::size_t rank, std::size_t parameter, std::size_t element) {
      const double background = step < 5 && parameter == 0 ? 3 * std::cos(static_cast<double>(element * element)) : 0;
      return sound(step, rank, parameter, element) + background;
    };
  }
};

TEST_F(SettlingSweep, SuggestsTheStepFromWhichTheBestErrorHasSettled) {
  SweepRequest request = every(1);
  request.spectrum.suggest_start = true;
  const SweepResult sweep = run_sweep(ranks(write(), {1, 2}), {}, request);
  ASSERT_EQ(sweep.starts.size(), 2U);
  EXPECT_EQ(sweep.starts[0].step, 105);
  EXPECT_EQ(sweep.starts[0].rank, 2);
}

TEST_F(SpectrumSweep, TableHasARowForEachSubject) {
  const SweepResult sweep = run_sweep(ranks(write(), {1, 2}), {}, every(1));
  const report::Table table = spectrum_table(sweep);
  EXPECT_EQ(table.rows(), sweep.spectrum->rows.size());
  EXPECT_EQ(table.rows(), 5U * 2 + 3U * 2 * 2);
  table.for_each_row([&](std::span<const report::Cell> row) { EXPECT_EQ(row.size(), table.columns().size()); });
}

}  // namespace
}  // namespace psgd::replay
