// The study of orthogonalization methods: inputs, judgement, recorded factors, advice.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/metrics/spectrum_exact.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "libpsgd/replay/factor_recorder.hpp"
#include "libpsgd/replay/ortho_advice.hpp"
#include "libpsgd/replay/ortho_document.hpp"
#include "libpsgd/replay/ortho_judge.hpp"
#include "libpsgd/replay/ortho_study.hpp"

namespace psgd::replay {
namespace {

using ::testing::HasSubstr;

ReplaySpec digits() {
  ReplaySpec spec;
  spec.files = {std::filesystem::path(PSGD_SOURCE_DIR) / "datasets" / "digits-vit.h5"};
  spec.threads = 2;
  return spec;
}

OrthoSpec on_shapes(std::vector<FactorShape> shapes) {
  OrthoSpec spec;
  spec.shapes = std::move(shapes);
  spec.repetitions = 1;
  spec.threads = 2;
  return spec;
}

std::vector<double> singular_values(const FactorBatch& batch) {
  const auto rows = static_cast<std::size_t>(batch.shape.rows);
  const auto cols = static_cast<std::size_t>(batch.shape.cols);
  metrics::Columns columns(rows, cols);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) columns.column(j)[i] = batch.values[i * cols + j];
  }
  return metrics::decompose(columns, false).values;
}

TEST(OrthoInputs, HaveTheConditionAndRankTheySay) {
  const FactorShape shape{60, 6, 1};
  const auto condition = [&](std::string_view name) {
    const auto values = singular_values(make_batch(ortho_input(name), shape, DType::float64, 3));
    return values.front() / values.back();
  };
  EXPECT_NEAR(condition("condition-1e2"), 1e2, 1e-9);
  EXPECT_NEAR(condition("condition-1e5"), 1e5, 1e-3);
  EXPECT_NEAR(condition("condition-1e7"), 1e7, 1e2);
  const auto rank = [&](std::string_view name) {
    const auto values = singular_values(make_batch(ortho_input(name), shape, DType::float32, 3));
    return std::count_if(values.begin(), values.end(), [&](double value) { return value > 1e-5 * values.front(); });
  };
  EXPECT_EQ(rank("random"), 6);
  EXPECT_EQ(rank("rank-deficient"), 3);
  EXPECT_EQ(rank("zero-column"), 5);
  EXPECT_EQ(rank("parallel-columns"), 5);
  EXPECT_EQ(rank("one-nonzero-row"), 1);
}

TEST(OrthoInputs, FollowTheSeed) {
  const auto values = [](std::uint32_t seed) {
    return make_batch(ortho_input("random"), {20, 3, 2}, DType::float32, seed).values;
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(5));
  EXPECT_EQ(values(1).size(), 120U);
}

class OrthoJudgeTest : public ::testing::Test {
 protected:
  ThreadPool pool_{1};
  std::unique_ptr<backend::Backend<double>> backend_ = backend::cpu<double>(pool_);
};

TEST_F(OrthoJudgeTest, MeasuresWhatIsKnown) {
  // Two columns in the plane of the first two axes; Q is turned out of it by an angle.
  const FactorBatch batch{{3, 2, 1}, "made", {1, 1, 0, 2, 0, 0}};
  const OrthoJudge judge(batch, true, *backend_);
  const double angle = 0.3;
  const OrthoQuality turned = judge.judge(std::vector<double>{1, 0, 0, std::cos(angle), 0, std::sin(angle)});
  EXPECT_NEAR(turned.orthogonality, 0, 1e-15);
  EXPECT_NEAR(turned.subspace_sine, std::sin(angle), 1e-14);
  EXPECT_NEAR(turned.residual, 2 * std::sin(angle) / std::sqrt(6.0), 1e-14);
  const OrthoQuality stretched = judge.judge(std::vector<double>{2, 0, 0, 1, 0, 0});
  EXPECT_NEAR(stretched.orthogonality, 3, 1e-15);
  EXPECT_NEAR(stretched.subspace_sine, 0, 1e-14);
}

TEST_F(OrthoJudgeTest, WhatHasNoNumberIsNotANumber) {
  const FactorBatch dependent{{3, 2, 1}, "made", {1, 2, 2, 4, 3, 6}};
  const std::vector<double> axes{1, 0, 0, 1, 0, 0};
  EXPECT_TRUE(std::isnan(OrthoJudge(dependent, true, *backend_).judge(axes).subspace_sine));
  const FactorBatch zero{{3, 2, 1}, "made", std::vector<double>(6, 0.0)};
  EXPECT_TRUE(std::isnan(OrthoJudge(zero, false, *backend_).judge(axes).residual));
  const std::vector<double> bad{1, 0, 0, std::nan(""), 0, 0};
  EXPECT_TRUE(std::isnan(OrthoJudge(zero, false, *backend_).judge(bad).orthogonality));
}

TEST_F(OrthoJudgeTest, TheWorstOfABatchCounts) {
  const FactorBatch batch{{2, 1, 3}, "made", {1, 0, 1, 0, 1, 0}};
  const OrthoJudge judge(batch, true, *backend_);
  EXPECT_NEAR(judge.judge(std::vector<double>{1, 0, 2, 0, 1, 0}).orthogonality, 3, 1e-15);
  EXPECT_TRUE(std::isnan(judge.judge(std::vector<double>{1, 0, std::nan(""), 0, 2, 0}).orthogonality));
}

TEST(OrthoStudy, HasARowForEveryMethodShapeTypeAndInput) {
  OrthoSpec spec = on_shapes({{300, 4, 2}, {50, 1, 1}});
  spec.dtypes = {DType::float32, DType::float64};
  const OrthoResult result = run_ortho(spec);
  const std::size_t methods = orthogonalize::methods().size();
  EXPECT_EQ(result.records.size(), methods * 2 * (8 + 2));  // one column: random and zero-column
  for (const OrthoRecord& record : result.records) {
    EXPECT_GT(record.seconds, 0);
    EXPECT_GE(record.seconds_spread, 0);
    EXPECT_GT(record.bytes_per_second, 0);
    if (record.method != "householder" && record.method != "tsqr" && record.method != "cholesky-qr2") continue;
    const double unit = record.dtype == DType::float32 ? 1e-5 : 1e-13;
    EXPECT_LT(record.orthogonality, unit) << record.method << " on " << record.input;
    if (record.input != "zero-column" || record.shape.cols > 1) {
      EXPECT_LT(record.residual, unit) << record.method << " on " << record.input;
    }
    if (record.input != "random") continue;
    EXPECT_LT(record.subspace_sine, unit) << record.method;
  }
}

TEST(OrthoStudy, RecommendsAMethodThatStaysOrthonormal) {
  OrthoSpec spec = on_shapes({{2000, 8, 1}});
  const OrthoResult result = run_ortho(spec);
  const OrthoAdvice advice = advise_ortho(spec, result);
  ASSERT_TRUE(advice.recommended);
  const std::set<std::string> sound{"householder", "tsqr", "cholesky-qr2", "shifted-cholesky-qr3"};
  EXPECT_TRUE(sound.contains(*advice.recommended)) << *advice.recommended;
  EXPECT_THAT(advice.reasons.front(), HasSubstr(*advice.recommended));
  const bool names_gram_schmidt =
      std::any_of(advice.reasons.begin(), advice.reasons.end(),
                  [](const std::string& reason) { return reason.starts_with("gram-schmidt is out"); });
  EXPECT_TRUE(names_gram_schmidt);
}

OrthoRecord timed(const std::string& method, std::int64_t cols, double seconds, double orthogonality = 1e-7) {
  OrthoRecord record;
  record.method = method;
  record.shape = {1000, cols, 1};
  record.input = "random";
  record.seconds = seconds;
  record.orthogonality = orthogonality;
  return record;
}

TEST(OrthoAdviceTest, FindsTheColumnsFromWhichOnAMethodIsFaster) {
  OrthoResult result;
  for (const std::int64_t cols : {2, 4, 8, 16}) {
    result.records.push_back(timed("gram-schmidt", cols, static_cast<double>(cols)));
    result.records.push_back(timed("householder", cols, 20));
    result.records.push_back(timed("cholesky-qr2", cols, cols == 4 ? 5 : 3));
  }
  const OrthoAdvice advice = advise_ortho({}, result);
  const auto cols = [&](const std::string& method, const std::string& base) {
    const auto found = std::find_if(advice.crossovers.begin(), advice.crossovers.end(), [&](const Crossover& one) {
      return one.method == method && one.overtakes == base;
    });
    return found == advice.crossovers.end() ? std::optional<std::int64_t>(-1) : found->cols;
  };
  EXPECT_EQ(cols("cholesky-qr2", "gram-schmidt"), 8);
  EXPECT_EQ(cols("cholesky-qr2", "householder"), 2);
  EXPECT_EQ(cols("householder", "gram-schmidt"), std::nullopt);
  EXPECT_EQ(advice.recommended, "cholesky-qr2");
  EXPECT_EQ(advice.pytorch_seconds, 2 + 20 * 3);
}

TEST(OrthoAdviceTest, AFastMethodThatLosesOrthogonalityIsOut) {
  OrthoResult result;
  result.records = {timed("cholesky-qr", 4, 1, 0.5), timed("cholesky-qr2", 4, 2), timed("cgs2", 4, 1, std::nan(""))};
  const OrthoAdvice advice = advise_ortho({}, result);
  EXPECT_EQ(advice.recommended, "cholesky-qr2");
  EXPECT_THAT(advice.reasons,
              ::testing::Contains(HasSubstr("cholesky-qr is out: ‖QᵀQ − I‖ = 0.5 on random of 1000 x 4")));
  EXPECT_THAT(advice.reasons, ::testing::Contains(HasSubstr("cgs2 is out: its columns are not finite")));
  result.records = {timed("cholesky-qr", 4, 1, 0.5)};
  EXPECT_FALSE(advise_ortho({}, result).recommended);
}

TEST(FactorRecorderTest, KeepsWhatTheReplayOrthonormalizes) {
  ReplaySpec spec = digits();
  spec.power_sgd.matrix_approximation_rank = 4;
  const RecordedFactors recorded = record_factors(spec, {});
  EXPECT_TRUE(recorded.complete);
  EXPECT_GT(recorded.step_seconds, 0);
  std::int64_t p = 0;
  std::int64_t q = 0;
  for (const FactorBatch& batch : recorded.batches) {
    (batch.input == replay_p ? p : q) += batch.shape.batch;
    EXPECT_EQ(batch.shape.cols, 4);
    EXPECT_EQ(batch.values.size(), static_cast<std::size_t>(batch.shape.batch * batch.shape.rows * batch.shape.cols));
  }
  EXPECT_EQ(p, 10);  // the parameters that are compressed at rank 4
  EXPECT_EQ(q, 10);
  // P = M·Q with orthonormal Q is no more orthonormal than M.
  EXPECT_EQ(recorded.batches.front().input, replay_q);
}

TEST(OrthoStudy, ADumpGivesShapesFactorsAndShares) {
  OrthoSpec spec;
  spec.dump = digits();
  spec.ranks = {2, 4, 16};
  spec.methods = {"gram-schmidt", "householder", "cholesky-qr2"};
  spec.inputs = {"random", "replay-p", "replay-q"};
  spec.repetitions = 1;
  spec.threads = 2;
  const OrthoResult result = run_ortho(spec);
  EXPECT_THAT(result.ranks_without_factors, ::testing::ElementsAre(16));
  ASSERT_EQ(result.rank_costs.size(), 2U);
  std::set<std::string> inputs;
  for (const OrthoRecord& record : result.records) {
    inputs.insert(record.input);
    EXPECT_EQ(record.rank > 0, record.input != "random");
    EXPECT_TRUE(record.method != "householder" || record.orthogonality < 1e-5) << record.orthogonality;
  }
  EXPECT_EQ(inputs.size(), 3U);
  const OrthoAdvice advice = advise_ortho(spec, result);
  ASSERT_EQ(advice.shares.size(), 2U * 3U);
  for (const StepShare& share : advice.shares) {
    EXPECT_GT(share.share, 0);
    EXPECT_LE(share.share, 1);
  }
}

template <class Action>
Error error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error::internal("no error");
}

TEST(OrthoStudy, RefusesWhatMakesNoSense) {
  const auto refused = [](OrthoSpec spec) { return error_of([&] { run_ortho(spec); }); };
  EXPECT_THAT(refused({}).what(), HasSubstr("neither shapes nor a dump"));
  EXPECT_THAT(refused(on_shapes({{3, 4, 1}})).what(), HasSubstr("3 x 4"));
  EXPECT_THAT(refused(on_shapes({{3, 0, 1}})).what(), HasSubstr("nothing to orthonormalize"));
  OrthoSpec spec = on_shapes({{4, 1, 1}});
  spec.inputs = {"replay-p"};
  EXPECT_THAT(refused(spec).what(), HasSubstr("needs a dump"));
  spec.inputs = {"condition-1e2"};
  EXPECT_THAT(refused(spec).what(), HasSubstr("one column"));
  spec.inputs = {"no-such"};
  EXPECT_THAT(refused(spec).what(), HasSubstr("known: random"));
  spec.inputs.clear();
  spec.methods = {"no-such"};
  EXPECT_THAT(refused(spec).what(), HasSubstr("known: auto, gram-schmidt"));
  EXPECT_EQ(refused(spec).kind(), ErrorKind::usage);
  spec = {};
  spec.dump = digits();
  spec.ranks = {16};
  EXPECT_EQ(refused(spec).kind(), ErrorKind::input);
  EXPECT_THAT(refused(spec).what(), HasSubstr("no tensor is compressed in the last step at rank 16"));
}

TEST(OrthoStudy, AStopLeavesWhatIsDone) {
  OrthoSpec spec = on_shapes({{30, 2, 1}});
  int asked = 0;
  const OrthoResult result = run_ortho(spec, {{}, nullptr, [&] { return ++asked > 2; }});
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.records.size(), 2 * orthogonalize::methods().size());
}

}  // namespace
}  // namespace psgd::replay
