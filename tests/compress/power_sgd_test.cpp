#include "libpsgd/compress/power_sgd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libpsgd/base/error.hpp"
#include "tests/compress/job.hpp"

namespace psgd {
namespace {

using compress::HookOptions;
using compress::should_compress;
using test::Job;
using test::Members;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Vectors, one row, one column, a rank above a dimension, one element, nothing, primes.
const std::vector<Shape> awkward_shapes{{13},   {1, 40}, {40, 1},  {2, 90},       {1},
                                        {0, 5}, {5, 0},  {31, 37}, {16, 3, 3, 3}, {31, 37}};

TEST(ShouldCompress, IsStrictAndClipsTheRank) {
  EXPECT_FALSE(should_compress(4, 4, 1, 2).compress);  // 8·2 = 16 is not below 16
  EXPECT_TRUE(should_compress(4, 5, 1, 2).compress);
  EXPECT_EQ(should_compress(4, 5, 1, 2).numel_after, 9);
  EXPECT_EQ(should_compress(2, 1000, 8, 0.1).rank, 2);
  EXPECT_TRUE(should_compress(10, 1, 1, 0.5).compress);  // a vector, when the rate allows it
  EXPECT_FALSE(should_compress(0, 0, 1, 2).compress);
  EXPECT_TRUE(should_compress(3, 3, 0, 2).compress);  // rank 0 sends nothing
  EXPECT_EQ(should_compress(3, 3, 0, 2).numel_after, 0);
}

template <class T>
void expect_original_is_averaged_plus_residual(Job<T>& job, int steps, double tolerance) {
  for (int step = 0; step < steps; ++step) {
    job.set_random_gradients(static_cast<unsigned>(100 + step));
    std::vector<std::vector<T>> errors(job.members());
    for (std::size_t member = 0; member < job.members(); ++member) {
      for (const Bucket& bucket : job.layout().buckets) {
        for (std::int64_t i = bucket.begin; i < bucket.begin + bucket.length; ++i)
          errors[member].push_back(job.error(member, bucket, i));
      }
    }
    const bool feeds_back = job.hook().feeds_back_now();
    job.step();
    if (!feeds_back) continue;
    for (std::size_t member = 0; member < job.members(); ++member) {
      std::size_t at = 0;
      for (const Bucket& bucket : job.layout().buckets) {
        for (std::int64_t i = bucket.begin; i < bucket.begin + bucket.length; ++i, ++at) {
          const double original = static_cast<double>(job.input(member, i)) + static_cast<double>(errors[member][at]);
          const double sum = static_cast<double>(job.averaged(i)) + static_cast<double>(job.error(member, bucket, i));
          ASSERT_NEAR(original, sum, tolerance * (1 + std::abs(original)))
              << "step " << step << " member " << member << " element " << i;
        }
      }
    }
  }
}

class Property : public ::testing::TestWithParam<std::tuple<const char*, int, Members>> {};

TEST_P(Property, OriginalIsAveragedPlusResidual) {
  const auto [hook, rank, members] = GetParam();
  HookOptions options = test::hook_options(rank);
  options.power_sgd.min_compression_rate = 0.25;  // vectors and small matrices too
  Job<double> in_double(hook, options, awkward_shapes, 3, members, 4);
  expect_original_is_averaged_plus_residual(in_double, 5, 1e-12);
  Job<float> in_float(hook, options, awkward_shapes, 3, members, 4);
  expect_original_is_averaged_plus_residual(in_float, 5, 2e-5);
}

std::string property_name(const ::testing::TestParamInfo<std::tuple<const char*, int, Members>>& info) {
  return std::string(std::get<0>(info.param)) + "_r" + std::to_string(std::get<1>(info.param)) +
         (std::get<2>(info.param) == Members::fused ? "_fused" : "_per_rank");
}

INSTANTIATE_TEST_SUITE_P(Layerwise, Property,
                         ::testing::Combine(::testing::Values("powersgd"), ::testing::Values(0, 1, 2, 3, 8, 50),
                                            ::testing::Values(Members::fused, Members::per_rank)),
                         property_name);
INSTANTIATE_TEST_SUITE_P(Batched, Property,
                         ::testing::Combine(::testing::Values("batched"), ::testing::Values(1, 2, 3, 5),
                                            ::testing::Values(Members::fused, Members::per_rank)),
                         property_name);

class FusedAgainstPerRank : public ::testing::TestWithParam<const char*> {};

TEST_P(FusedAgainstPerRank, AgreesTo1e10InDouble) {
  for (const std::int64_t rank : {1, 2, 4}) {
    Job<double> fused(GetParam(), test::hook_options(rank), {{64, 40}, {64, 40}, {33, 70}, {50}}, 5, Members::fused, 2);
    Job<double> per_rank(GetParam(), test::hook_options(rank), {{64, 40}, {64, 40}, {33, 70}, {50}}, 5,
                         Members::per_rank, 2);
    for (unsigned step = 0; step < 8; ++step) {
      fused.set_random_gradients(step);
      per_rank.set_random_gradients(step);
      fused.step();
      per_rank.step();
      double difference = 0;
      double norm = 0;
      for (const Bucket& bucket : fused.layout().buckets) {
        for (std::int64_t i = bucket.begin; i < bucket.begin + bucket.length; ++i) {
          difference += std::pow(fused.averaged(i) - per_rank.averaged(i), 2);
          norm += std::pow(per_rank.averaged(i), 2);
        }
      }
      ASSERT_LE(std::sqrt(difference), 1e-10 * std::sqrt(norm)) << "rank " << rank << " step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hooks, FusedAgainstPerRank, ::testing::Values("powersgd", "batched", "original"),
                         [](const auto& test) { return std::string(test.param); });

TEST(PowerSGD, RecoversAMatrixOfItsRank) {
  Job<double> job("powersgd", test::hook_options(2), {{60, 50}}, 1, Members::fused);
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  std::vector<double> left(120);
  std::vector<double> right(100);
  for (double& value : left) value = normal(engine);
  for (double& value : right) value = normal(engine);
  for (int step = 0; step < 4; ++step) {
    std::size_t at = 0;
    job.set_gradients([&] {
      const std::size_t i = at / 50;
      const std::size_t j = at++ % 50;
      return left[2 * i] * right[2 * j] + left[2 * i + 1] * right[2 * j + 1];
    });
    job.step();
  }
  const auto& sums = *job.hook().outcome(0).tensors[0].sums;
  EXPECT_LE(std::sqrt(sums.difference_sq), 1e-12 * std::sqrt(sums.gradient_sq));
}

TEST(PowerSGD, LocalResidualsLeaveTheOutputAlone) {
  HookOptions averaged = test::hook_options(2);
  averaged.power_sgd.use_error_feedback = true;
  HookOptions local = averaged;
  local.residual = compress::Residual::local;
  Job<double> first("powersgd", averaged, {{30, 40}, {20}}, 3, Members::per_rank);
  Job<double> second("powersgd", local, {{30, 40}, {20}}, 3, Members::per_rank);
  for (unsigned step = 0; step < 5; ++step) {
    first.set_random_gradients(step);
    second.set_random_gradients(step);
    first.step();
    second.step();
    for (std::int64_t i = 0; i < first.layout().buckets[0].length; ++i)
      ASSERT_NEAR(first.averaged(i), second.averaged(i), 1e-12);
  }
  const auto& one = first.hook().outcome(0).tensors[0].members;
  const auto& other = second.hook().outcome(0).tensors[0].members;
  EXPECT_GT(std::abs(one[0].residual_sq - other[0].residual_sq), 1e-3);
  EXPECT_EQ(second.hook().outcome(0).tensors[1].members[0].residual_sq, 0);
}

TEST(PowerSGD, CountsAsCompressionStats) {
  Job<float> job("powersgd", test::hook_options(2), {{32, 64}, {10}}, 2, Members::fused);
  for (unsigned step = 0; step < 5; ++step) {
    job.set_random_gradients(step);
    job.step();
  }
  const compress::CompressionStats stats = job.hook().compression_stats();
  EXPECT_EQ(stats.numel_before, 3 * (32 * 64 + 10));
  EXPECT_EQ(stats.numel_after, 3 * ((32 + 64) * 2 + 10));
  EXPECT_EQ(job.hook().state()->iter, 5);
}

TEST(PowerSGD, LogsWhatPyTorchLogsAtItsMoments) {
  HookOptions options = test::hook_options(1);
  options.power_sgd.compression_stats_logging_frequency = 2;
  Job<float> job("powersgd", options, {{8, 8}, {16, 16}, {3}}, 1, Members::fused, 2);
  for (unsigned step = 0; step < 4; ++step) {
    job.set_random_gradients(step);
    job.step();
  }
  EXPECT_THAT(
      job.log(),
      ElementsAre(
          "PowerSGD config: matrix_approximation_rank = 1; start_powerSGD_iter = 2; min_compression_rate = 2; "
          "orthogonalization_epsilon = 0; use_error_feedback = True; warm_start = True; random_seed = 0; "
          "compression_stats_logging_frequency = 2; batch_tensors_with_same_shape = False",
          "Start to apply PowerSGD after 2 iterations.",
          "A zero tensor of length 320 that represents local error is created.",
          "Allocating contiguous memory of length 24 for Ps, and of length 24 for Qs, respectively.",
          "Start to apply PowerSGD after 2 iterations.",
          "A zero tensor of length 3 that represents local error is created.",
          "Compression stats: iter 2, total before compression 323, total after compression 51, rate 6.333333333333333",
          "Allocating contiguous memory of length 0 for Ps, and of length 0 for Qs, respectively."));
}

TEST(PowerSGD, RefusesWhatPyTorchRefuses) {
  HookOptions options = test::hook_options(1);
  options.power_sgd.start_powerSGD_iter = 1;
  try {
    Job<float> job("powersgd", options, {{8, 8}}, 1, Members::fused);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(),
                HasSubstr("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled"));
  }
  options.power_sgd.use_error_feedback = false;
  options.power_sgd.warm_start = false;
  EXPECT_NO_THROW(Job<float>("powersgd", options, {{8, 8}}, 1, Members::fused));
}

TEST(BatchedPowerSGD, RefusesASquareSmallerThanTheRank) {
  try {
    Job<float> job("batched", test::hook_options(4), {{8}}, 1, Members::fused);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), HasSubstr("bucket 0"));
  }
}

TEST(PowerSGD, BatchingChangesTheNumbersOnlyWhereDrawsDiffer) {
  HookOptions plain = test::hook_options(2);
  HookOptions batched = plain;
  batched.power_sgd.batch_tensors_with_same_shape = true;
  const auto output_distance = [&](const std::vector<Shape>& shapes) {
    Job<double> one("powersgd", plain, shapes, 1, Members::fused);
    Job<double> other("powersgd", batched, shapes, 1, Members::fused);
    for (unsigned step = 0; step < 3; ++step) {
      one.set_random_gradients(step);
      other.set_random_gradients(step);
      one.step();
      other.step();
    }
    double sum = 0;
    for (std::int64_t i = 0; i < one.layout().buckets[0].length; ++i)
      sum += std::abs(one.averaged(i) - other.averaged(i));
    return sum;
  };
  EXPECT_GT(output_distance({{20, 25}, {20, 25}}), 1e-3);  // 50 numbers a draw
  EXPECT_EQ(output_distance({{20, 24}, {20, 24}}), 0);     // 48, a multiple of 16
}

}  // namespace
}  // namespace psgd
