// Each hazard from data that has it, and none from data that has not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "libpsgd/base/error.hpp"
#include "libpsgd/replay/replay.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::replay {
namespace {

using metrics::Hazard;
using metrics::HazardKind;
using ::testing::HasSubstr;

class Hazards : public ::testing::Test {
 protected:
  std::vector<Hazard> hazards_of(const test::DumpBuilder& builder, ReplaySpec spec = {}) {
    builder.write(scratch_ / "dump.h5");
    spec.files = {scratch_ / "dump.h5"};
    spec.threads = 1;
    result_ = run_replay(spec);
    std::filesystem::remove(scratch_ / "dump.h5");
    return result_.summary.hazards;
  }

  static const Hazard* find(const std::vector<Hazard>& hazards, HazardKind kind, const std::string& parameter = "") {
    for (const Hazard& hazard : hazards) {
      if (hazard.kind == kind && hazard.parameter == parameter) return &hazard;
    }
    return nullptr;
  }

  static test::DumpBuilder sound() {
    test::DumpBuilder builder;
    builder.add("weight", {24, 20}).add("bias", {24});
    return builder;
  }

  static ReplaySpec rank(std::int64_t r) {
    ReplaySpec spec;
    spec.power_sgd.matrix_approximation_rank = r;
    return spec;
  }

  test::TemporaryDirectory scratch_;
  ReplayResult result_;
};

TEST_F(Hazards, NoneInSoundData) { EXPECT_TRUE(hazards_of(sound(), rank(2)).empty()); }

TEST_F(Hazards, NonFiniteInputNamesStepParameterAndProcessRankOnce) {
  test::DumpBuilder builder = sound();
  builder.value = [](std::size_t step, std::size_t r, std::size_t p, std::size_t i) {
    if (step >= 1 && r == 1 && p == 1 && i < 2) return std::numeric_limits<double>::infinity();
    return std::sin(static_cast<double>(1 + step + 3 * r + 7 * i + i * i));
  };
  const auto hazards = hazards_of(builder, rank(1));
  const Hazard* const input = find(hazards, HazardKind::non_finite_input, "bias");
  ASSERT_NE(input, nullptr);
  EXPECT_EQ(input->step, 1);
  EXPECT_EQ(input->process_rank, 1);
  EXPECT_EQ(input->value, 2.0);
  EXPECT_EQ(input->count, 4);
  EXPECT_NE(find(hazards, HazardKind::non_finite_output, "bias"), nullptr);
  EXPECT_EQ(find(hazards, HazardKind::non_finite_input, "weight"), nullptr);
}

TEST_F(Hazards, NormsBeyondTheTypeAreNotNonFinite) {
  test::DumpBuilder builder;
  builder.add("weight", {24, 20}, DType::float32);
  builder.value = [](std::size_t step, std::size_t r, std::size_t, std::size_t i) {
    return 1e38 * std::sin(static_cast<double>(step + 5 * r + i * i));
  };
  const auto hazards = hazards_of(builder, rank(1));
  EXPECT_EQ(find(hazards, HazardKind::non_finite_input, "weight"), nullptr);
}

TEST_F(Hazards, ZeroGradientGivesZeroColumnsAndNanAsInPyTorch) {
  test::DumpBuilder builder = sound();
  builder.value = [](std::size_t step, std::size_t r, std::size_t p, std::size_t i) {
    return p == 0 ? 0.0 : std::sin(static_cast<double>(step + r + i));
  };
  const auto hazards = hazards_of(builder, rank(1));
  EXPECT_NE(find(hazards, HazardKind::zero_gradient, "weight"), nullptr);
  EXPECT_NE(find(hazards, HazardKind::zero_column, "weight"), nullptr);
  EXPECT_NE(find(hazards, HazardKind::lost_orthogonality, "weight"), nullptr);
  EXPECT_NE(find(hazards, HazardKind::non_finite_output, "weight"), nullptr);
  EXPECT_TRUE(std::isnan(result_.records[4 * 2].measurement.sums.averaged_sq));
}

TEST_F(Hazards, ColumnNormsThatFloat32CannotSquare) {
  const auto scaled = [&](double scale, DType dtype, std::int64_t r) {
    test::DumpBuilder builder;
    builder.add("weight", {24, 20}, dtype);
    builder.value = [scale](std::size_t step, std::size_t rank, std::size_t, std::size_t i) {
      return scale * std::sin(static_cast<double>(step + 5 * rank + i * i));
    };
    return find(hazards_of(builder, rank(r)), HazardKind::float32_range, "weight") != nullptr;
  };
  EXPECT_TRUE(scaled(1e-24, DType::float32, 1));
  EXPECT_TRUE(scaled(1e25, DType::float32, 2));
  EXPECT_FALSE(scaled(1e-12, DType::float32, 1));
  EXPECT_FALSE(scaled(1e12, DType::float32, 1));
  EXPECT_FALSE(scaled(1e-24, DType::float64, 1)) << "PyTorch would use float64";
  EXPECT_FALSE(scaled(1e-24, DType::float32, 4)) << "Householder scales";
}

TEST_F(Hazards, ALostOutputLeavesNoGoodMeans) {
  test::DumpBuilder builder = sound();
  builder.value = [](std::size_t step, std::size_t r, std::size_t p, std::size_t i) {
    return p == 0 ? 0.0 : std::sin(static_cast<double>(step + r + i));
  };
  hazards_of(builder, rank(1));  // Gram–Schmidt of the zero gradient is NaN
  EXPECT_TRUE(std::isnan(result_.summary.relative_error_whole_model.mean));
  EXPECT_TRUE(std::isnan(result_.summary.relative_error_whole_model.max));
  EXPECT_TRUE(std::isnan(result_.summary.relative_error.mean)) << "a zero gradient has no relative error";
}

TEST_F(Hazards, ExactRankOneHasParallelColumnsUnderGramSchmidtOnly) {
  test::DumpBuilder builder;
  builder.add("weight", {24, 20});
  builder.value = [](std::size_t, std::size_t, std::size_t, std::size_t) { return 1.0; };
  ReplaySpec spec = rank(2);
  const auto hazards = hazards_of(builder, spec);
  EXPECT_NE(find(hazards, HazardKind::parallel_columns, "weight"), nullptr);
  spec.orthogonalization = "householder";
  const auto with_qr = hazards_of(builder, spec);
  EXPECT_NE(find(with_qr, HazardKind::parallel_columns, "weight"), nullptr);
  EXPECT_EQ(find(with_qr, HazardKind::lost_orthogonality, "weight"), nullptr);
  EXPECT_LT(std::sqrt(result_.records.back().measurement.sums.difference_sq), 1e-4);
}

TEST_F(Hazards, RankClippedAndCompressionThatEnlarges) {
  test::DumpBuilder builder;
  builder.add("narrow", {4, 300}).add("small", {6, 6});
  ReplaySpec spec = rank(8);
  spec.power_sgd.min_compression_rate = 0.4;
  const auto hazards = hazards_of(builder, spec);
  const Hazard* const clipped = find(hazards, HazardKind::rank_clipped, "narrow");
  ASSERT_NE(clipped, nullptr);
  EXPECT_EQ(clipped->value, 4.0);
  const Hazard* const enlarged = find(hazards, HazardKind::compression_enlarges, "small");
  ASSERT_NE(enlarged, nullptr);
  EXPECT_EQ(enlarged->value, 72.0);
}

TEST_F(Hazards, StartNeverReached) {
  ReplaySpec spec = rank(1);
  spec.power_sgd.start_powerSGD_iter = 1000;
  EXPECT_NE(find(hazards_of(sound(), spec), HazardKind::start_never_reached), nullptr);
  EXPECT_TRUE(std::isnan(result_.summary.seconds_per_step));
}

TEST_F(Hazards, GapsBetweenStepsMatterOnlyToWhatRemembers) {
  test::DumpBuilder builder = sound();
  builder.steps = {0, 10, 20, 30, 40};
  const auto hazards = hazards_of(builder, rank(1));
  const Hazard* const gaps = find(hazards, HazardKind::step_gaps);
  ASSERT_NE(gaps, nullptr);
  EXPECT_EQ(gaps->step, 10);
  EXPECT_EQ(gaps->count, 4);
  ReplaySpec spec = rank(1);
  spec.power_sgd.use_error_feedback = false;
  spec.power_sgd.warm_start = false;
  EXPECT_EQ(find(hazards_of(builder, spec), HazardKind::step_gaps), nullptr);
}

TEST_F(Hazards, GoingOnAfterAGapFromASavedState) {
  test::DumpBuilder builder = sound();
  ReplaySpec first = rank(1);
  first.steps = {builder.steps.front(), builder.steps[2]};
  first.state_out = scratch_ / "state.h5";
  hazards_of(builder, first);
  const auto gap_from = [&](std::size_t from) {
    ReplaySpec spec = rank(1);
    spec.steps = {builder.steps[from], builder.steps.back()};
    spec.state_in = scratch_ / "state.h5";
    const auto hazards = hazards_of(builder, spec);
    const Hazard* const gap = find(hazards, HazardKind::step_gaps);
    return gap == nullptr ? std::optional<double>() : gap->value;
  };
  EXPECT_EQ(gap_from(3), std::nullopt);
  EXPECT_EQ(gap_from(4), 2.0);
  EXPECT_EQ(gap_from(1), -1.0) << "repeated steps falsify as much as missing ones";
}

TEST_F(Hazards, RankZeroSendsNothing) {
  EXPECT_NE(find(hazards_of(sound(), rank(0)), HazardKind::rank_zero), nullptr);
  ReplaySpec none = rank(0);
  ReplaySpec original = rank(0);
  original.hook = "original";
  EXPECT_NE(find(hazards_of(sound(), original), HazardKind::rank_zero), nullptr);
  none.hook = "none";
  EXPECT_EQ(find(hazards_of(sound(), none), HazardKind::rank_zero), nullptr);
}

TEST_F(Hazards, ChangingLossScaleUnderErrorFeedback) {
  test::DumpBuilder builder = sound();
  builder.loss_scale = [](std::size_t step) { return step < 3 ? 1024.0F : 512.0F; };
  const auto hazards = hazards_of(builder, rank(1));
  const Hazard* const change = find(hazards, HazardKind::loss_scale_change);
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->step, 3);
  ReplaySpec spec = rank(1);
  spec.power_sgd.use_error_feedback = false;
  EXPECT_EQ(find(hazards_of(builder, spec), HazardKind::loss_scale_change), nullptr);
}

TEST_F(Hazards, HalfPrecisionIsNotEmulatedAndUsesGramSchmidt) {
  test::DumpBuilder builder;
  builder.add("weight", {24, 20}, DType::bfloat16);
  const auto hazards = hazards_of(builder, rank(4));
  EXPECT_NE(find(hazards, HazardKind::rounding_not_emulated), nullptr);
}

TEST_F(Hazards, AveragedAndIncompleteRecordings) {
  test::DumpBuilder builder = sound();
  builder.grad_kind = dump::GradKind::averaged;
  builder.complete = false;
  const auto hazards = hazards_of(builder, rank(1));
  EXPECT_NE(find(hazards, HazardKind::averaged_gradients), nullptr);
  EXPECT_NE(find(hazards, HazardKind::incomplete_dump), nullptr);
}

TEST_F(Hazards, ScalarsAreRefusedWithTheWayOut) {
  test::DumpBuilder builder = sound();
  builder.add("temperature", {});
  try {
    hazards_of(builder, rank(1));
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), HasSubstr("\"temperature\" is 0-dimensional"));
    EXPECT_THAT(error.what(), HasSubstr("--exclude 'temperature'"));
  }
  std::filesystem::remove(scratch_ / "dump.h5");
  ReplaySpec spec = rank(1);
  spec.exclude = {"temperature"};
  EXPECT_TRUE(hazards_of(builder, spec).empty());
}

}  // namespace
}  // namespace psgd::replay
