#include <gtest/gtest.h>

#include <cmath>

#include "libpsgd/compress/power_sgd.hpp"
#include "tests/compress/job.hpp"
#include "tests/support/known_spectrum.hpp"

/// The exact SVD, and the variants of PowerSGD that send one factor a step.
namespace psgd {
namespace {

using compress::HookOptions;
using test::Job;
using test::Members;

HookOptions low_rank_options(std::int64_t rank, std::int64_t start = 0) {
  HookOptions options = test::hook_options(rank);
  options.power_sgd.start_powerSGD_iter = start;
  return options;
}

template <class T>
void set_matrix(Job<T>& job, const std::vector<double>& matrix) {
  std::size_t at = 0;
  job.set_gradients([&] { return matrix[at++]; });
}

TEST(Svd, MakesTheSmallestErrorOfItsRank) {
  std::mt19937 engine(3);
  std::vector<double> values;
  for (int i = 0; i < 23; ++i) values.push_back(std::pow(0.7, i));
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{23, 61}, {61, 23}}) {
    const auto matrix =
        test::matrix_with_spectrum(static_cast<std::size_t>(rows), static_cast<std::size_t>(cols), values, engine);
    for (const std::int64_t rank : {1, 3, 8}) {
      Job<double> job("svd", low_rank_options(rank), {{rows, cols}}, 1, Members::per_rank);
      set_matrix(job, matrix);
      job.step();
      double tail = 0;
      for (std::size_t i = static_cast<std::size_t>(rank); i < values.size(); ++i) tail += values[i] * values[i];
      const compress::TensorOutcome& outcome = job.hook().outcome(0).tensors[0];
      EXPECT_NEAR(outcome.sums->difference_sq, tail, 1e-12);
      EXPECT_NEAR(outcome.members[0].residual_sq, tail, 1e-12);
      EXPECT_EQ(outcome.rank, rank);
      EXPECT_EQ(outcome.bytes_sent, 8.0 * static_cast<double>((rows + cols) * rank));
    }
  }
}

TEST(Svd, FollowsPowerSGDsThreshold) {
  Job<float> job("svd", low_rank_options(2), {{32, 64}, {10}, {4, 4}}, 2, Members::per_rank);
  job.set_random_gradients(1);
  job.step();
  const auto& tensors = job.hook().outcome(0).tensors;
  EXPECT_TRUE(tensors[0].compressed);
  EXPECT_FALSE(tensors[1].compressed);
  EXPECT_FALSE(tensors[2].compressed);
  EXPECT_EQ(tensors[2].bytes_sent, 64);
  for (std::int64_t i = job.layout().buckets[0].tensors[1].begin; i < job.layout().buckets[0].length; ++i)
    EXPECT_EQ(job.averaged(i), job.mean(i));
}

class OneFactor : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Hooks, OneFactor, ::testing::Values("powersgd-alternating", "acp-sgd"),
                         [](const auto& test) { return std::string(test.param).substr(0, 3); });

/// In the second step: the factor sent first spans the matrix' own space. (With error feedback the target is another
/// matrix.)
TEST_P(OneFactor, RecoversAMatrixOfItsRank) {
  std::mt19937 engine(5);
  HookOptions options = low_rank_options(2);
  options.power_sgd.use_error_feedback = false;
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{60, 47}, {47, 60}}) {
    const auto matrix =
        test::matrix_with_spectrum(static_cast<std::size_t>(rows), static_cast<std::size_t>(cols), {3, 1}, engine);
    Job<double> job(GetParam(), options, {{rows, cols}}, 3, Members::fused);
    job.set_gradients([&, at = std::size_t{0}]() mutable { return matrix[at++ / 3]; });
    for (int step = 0; step < 2; ++step) job.step();
    const auto& sums = *job.hook().outcome(0).tensors[0].sums;
    EXPECT_LE(std::sqrt(sums.difference_sq), 1e-12 * std::sqrt(sums.gradient_sq));
  }
}

TEST_P(OneFactor, ComesNearTheBestOverSteps) {
  std::mt19937 engine(6);
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back(std::pow(0.5, i));
  const auto matrix = test::matrix_with_spectrum(30, 41, values, engine);
  HookOptions options = low_rank_options(3);
  options.power_sgd.use_error_feedback = false;
  Job<double> job(GetParam(), options, {{30, 41}}, 1, Members::fused);
  set_matrix(job, matrix);
  for (int step = 0; step < 20; ++step) job.step();
  const double best = std::pow(0.5, 6) / (1 - 0.25);  // Σ of 4^(−i) from i = 3
  EXPECT_NEAR(job.hook().outcome(0).tensors[0].sums->difference_sq, best, 1e-6 * best);
}

TEST_P(OneFactor, FusedAgreesWithPerRank) {
  Job<double> fused(GetParam(), low_rank_options(3, 1), {{64, 40}, {64, 40}, {33, 70}, {50}}, 5, Members::fused, 2);
  Job<double> per_rank(GetParam(), low_rank_options(3, 1), {{64, 40}, {64, 40}, {33, 70}, {50}}, 5, Members::per_rank,
                       2);
  for (unsigned step = 0; step < 8; ++step) {
    fused.set_random_gradients(step);
    per_rank.set_random_gradients(step);
    fused.step();
    per_rank.step();
    for (const Bucket& bucket : fused.layout().buckets) {
      for (std::int64_t i = bucket.begin; i < bucket.begin + bucket.length; ++i)
        ASSERT_NEAR(fused.averaged(i), per_rank.averaged(i), 1e-11) << step;
    }
  }
}

TEST_P(OneFactor, SendsTheFactorsInTurn) {
  Job<float> job(GetParam(), low_rank_options(2), {{32, 64}, {10}}, 2, Members::fused);
  const bool p_first = std::string(GetParam()) == "acp-sgd";
  for (unsigned step = 0; step < 4; ++step) {
    job.set_random_gradients(step);
    job.step();
    const bool p_step = (step % 2 == 0) == p_first;
    EXPECT_EQ(job.hook().outcome(0).tensors[0].bytes_sent, 4 * 2 * (p_step ? 32 : 64)) << step;
    EXPECT_EQ(job.hook().outcome(0).bytes_sent, 4 * (2 * (p_step ? 32 : 64) + 10)) << step;
    EXPECT_EQ(job.hook().outcome(0).tensors[0].q.before != nullptr, p_step);
    EXPECT_EQ(job.hook().outcome(0).tensors[0].p.before != nullptr, !p_step);
  }
  EXPECT_EQ(job.hook().compression_stats().numel_after, 2 * ((32 + 64) * 2 + 2 * 10));
}

TEST(PowerSGDAlternating, CountsHalfTheFactorsInItsThreshold) {
  // 40·50/(½·4·90) = 11.1; PyTorch's count is 5.6
  for (const double rate : {11.0, 11.2}) {
    HookOptions options = low_rank_options(4);
    options.power_sgd.min_compression_rate = rate;
    Job<float> job("powersgd-alternating", options, {{40, 50}}, 1, Members::fused);
    job.set_random_gradients(1);
    job.step();
    EXPECT_EQ(job.hook().outcome(0).compressed, rate < 11.1);
  }
}

TEST(AcpSgd, CompressesEveryMatrixAndNoVector) {
  HookOptions options = low_rank_options(4);
  options.power_sgd.min_compression_rate = 1000;
  Job<float> job("acp-sgd", options, {{3, 2}, {9}, {9, 1}, {1, 9}, {2, 2, 3, 3}}, 1, Members::fused);
  job.set_random_gradients(1);
  job.step();
  const auto& tensors = job.hook().outcome(0).tensors;
  EXPECT_TRUE(tensors[0].compressed);
  EXPECT_EQ(tensors[0].rank, 2);
  EXPECT_FALSE(tensors[1].compressed);
  EXPECT_FALSE(tensors[2].compressed);
  EXPECT_FALSE(tensors[3].compressed);
  EXPECT_TRUE(tensors[4].compressed);
}

/// One matrix on `ranks` process ranks, written down once more as the authors' programs have it: dense, no backend.
struct Dense {
  std::size_t rows, cols, rank, ranks;
  bool local;
  std::vector<double> factor;               // the one received last
  std::vector<std::vector<double>> errors;  // a process rank each
  std::vector<double> output;

  void orthonormalize(std::size_t size) {
    for (std::size_t k = 0; k < rank; ++k) {
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t l = 0; l < k; ++l) {
          double dot = 0;
          for (std::size_t i = 0; i < size; ++i) dot += factor[i * rank + k] * factor[i * rank + l];
          for (std::size_t i = 0; i < size; ++i) factor[i * rank + k] -= dot * factor[i * rank + l];
        }
      }
      double norm = 0;
      for (std::size_t i = 0; i < size; ++i) norm += factor[i * rank + k] * factor[i * rank + k];
      for (std::size_t i = 0; i < size; ++i) factor[i * rank + k] /= std::sqrt(norm);
    }
  }

  /// The element (i, j) of the product of the kept factor and the sent one.
  [[nodiscard]] double product(const std::vector<double>& sent, std::size_t i, std::size_t j, bool p_step) const {
    double sum = 0;
    for (std::size_t k = 0; k < rank; ++k)
      sum += (p_step ? sent[i * rank + k] * factor[j * rank + k] : factor[i * rank + k] * sent[j * rank + k]);
    return sum;
  }

  void step(const std::vector<std::vector<double>>& gradients, bool p_step) {
    orthonormalize(p_step ? cols : rows);
    const std::size_t size = (p_step ? rows : cols) * rank;
    std::vector<double> mean(size, 0.0);
    std::vector<std::vector<double>> own(ranks, std::vector<double>(size, 0.0));
    for (std::size_t w = 0; w < ranks; ++w) {
      for (std::size_t i = 0; i < rows * cols; ++i) errors[w][i] += gradients[w][i];
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j) {
          for (std::size_t k = 0; k < rank; ++k) {
            own[w][(p_step ? i : j) * rank + k] += errors[w][i * cols + j] * factor[(p_step ? j : i) * rank + k];
          }
        }
      }
      for (std::size_t i = 0; i < size; ++i) mean[i] += own[w][i] / static_cast<double>(ranks);
    }
    output.resize(rows * cols);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        output[i * cols + j] = product(mean, i, j, p_step);
        for (std::size_t w = 0; w < ranks; ++w) errors[w][i * cols + j] -= product(local ? own[w] : mean, i, j, p_step);
      }
    }
    factor = mean;
  }
};

TEST_P(OneFactor, FollowsItsAuthorsStepByStep) {
  const bool acp = std::string(GetParam()) == "acp-sgd";
  Job<double> job(GetParam(), low_rank_options(3), {{19, 23}}, 4, Members::per_rank);
  Dense dense{
      19, 23, 3, 4, acp, {}, std::vector<std::vector<double>>(4, std::vector<double>(std::size_t{19 * 23}, 0.0)), {}};
  const auto memory = job.hook().memory();
  using Kind = compress::MemoryView<double>::Kind;
  for (const auto& view : memory) {
    if (view.kind == (acp ? Kind::q : Kind::p)) dense.factor.assign(view.data, view.data + view.count);
  }
  for (unsigned step = 0; step < 7; ++step) {
    job.set_random_gradients(step);
    std::vector<std::vector<double>> gradients(4);
    for (std::size_t w = 0; w < 4; ++w) {
      for (std::int64_t i = 0; i < 19 * 23; ++i) gradients[w].push_back(job.gradient(w, i));
    }
    job.step();
    dense.step(gradients, (step % 2 == 0) == acp);
    for (std::int64_t i = 0; i < 19 * 23; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_NEAR(job.averaged(i), dense.output[at], 1e-11) << "step " << step;
      for (std::size_t w = 0; w < 4; ++w)
        ASSERT_NEAR(job.error(w, job.layout().buckets[0], i), dense.errors[w][at], 1e-11) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace psgd
