#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "libpsgd/base/error.hpp"
#include "tests/compress/job.hpp"

/// What all baselines have to do, whatever they send.
namespace psgd {
namespace {

using compress::HookEntry;
using compress::HookOptions;
using test::Job;
using test::Members;
using ::testing::HasSubstr;

/// Vectors, one row, one column, one element, nothing, primes, a convolution, no dimension at all.
const std::vector<Shape> awkward_shapes{{13},   {1, 40},  {40, 1},       {2, 90},  {1},   {0, 5},
                                        {5, 0}, {31, 37}, {16, 3, 3, 3}, {31, 37}, {1, 1}};

HookOptions baseline_options(std::int64_t start = 1) {
  HookOptions options = test::hook_options(2);
  options.power_sgd.start_powerSGD_iter = start;
  options.power_sgd.min_compression_rate = 1;
  options.baseline.fraction = 0.1;
  options.baseline.quantization_chunk = 16;
  return options;
}

template <class T>
std::vector<double> mean_errors(Job<T>& job) {
  std::vector<double> result;
  for (const Bucket& bucket : job.layout().buckets) {
    for (std::int64_t i = bucket.begin; i < bucket.begin + bucket.length; ++i) {
      double sum = 0;
      for (std::size_t member = 0; member < job.members(); ++member)
        sum += static_cast<double>(job.error(member, bucket, i));
      result.push_back(sum / static_cast<double>(job.members()));
    }
  }
  return result;
}

/// Averaged over process ranks, gradient + error memory before = output + error memory after.
template <class T>
void expect_nothing_is_lost(Job<T>& job, double tolerance) {
  for (unsigned step = 0; step < 6; ++step) {
    job.set_random_gradients(200 + step);
    const std::vector<double> before = mean_errors(job);
    job.step();
    const std::vector<double> after = mean_errors(job);
    std::size_t at = 0;
    for (const Bucket& bucket : job.layout().buckets) {
      for (std::int64_t i = bucket.begin; i < bucket.begin + bucket.length; ++i, ++at) {
        const double original = static_cast<double>(job.mean(i)) + before[at];
        ASSERT_NEAR(original, static_cast<double>(job.averaged(i)) + after[at], tolerance * (1 + std::abs(original)))
            << "step " << step << " element " << i;
      }
    }
  }
}

class ErrorFeedback : public ::testing::TestWithParam<std::tuple<const char*, Members>> {};

TEST_P(ErrorFeedback, LosesNothingOnAverage) {
  const auto [hook, members] = GetParam();
  Job<double> in_double(hook, baseline_options(), awkward_shapes, 3, members, 4);
  expect_nothing_is_lost(in_double, 1e-12);
  Job<float> in_float(hook, baseline_options(), awkward_shapes, 3, members, 4);
  expect_nothing_is_lost(in_float, 2e-5);
}

TEST_P(ErrorFeedback, MeasuresItsResiduals) {
  const auto [hook, members] = GetParam();
  Job<double> job(hook, baseline_options(0), {{20, 30}, {7, 11}}, 2, members);
  for (unsigned step = 0; step < 3; ++step) {
    job.set_random_gradients(step);
    job.step();
  }
  const Bucket& bucket = job.layout().buckets[0];
  for (std::size_t i = 0; i < bucket.tensors.size(); ++i) {
    const compress::TensorOutcome& outcome = job.hook().outcome(0).tensors[i];
    for (std::size_t member = 0; member < job.members(); ++member) {
      double sum = 0;
      for (std::int64_t k = 0; k < bucket.tensors[i].numel; ++k)
        sum += std::pow(job.error(member, bucket, bucket.tensors[i].begin + k), 2);
      EXPECT_NEAR(outcome.members[member].residual_sq, sum, 1e-12 * sum);
      EXPECT_GT(outcome.members[member].target_sq, 0);
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<std::tuple<const char*, Members>>& info) {
  std::string name = std::get<0>(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name + (std::get<1>(info.param) == Members::fused ? "_fused" : "_per_rank");
}

INSTANTIATE_TEST_SUITE_P(PerRank, ErrorFeedback,
                         ::testing::Combine(::testing::Values("top-k", "random-k", "sign-norm", "svd",
                                                              "powersgd-alternating", "acp-sgd"),
                                            ::testing::Values(Members::per_rank)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Fused, ErrorFeedback,
                         ::testing::Combine(::testing::Values("random-k", "powersgd-alternating", "acp-sgd"),
                                            ::testing::Values(Members::fused)),
                         case_name);

class EveryBaseline : public ::testing::TestWithParam<const char*> {};

std::string hook_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Hooks, EveryBaseline,
                         ::testing::Values("float16", "bfloat16", "top-k", "random-k", "sign-norm", "qsgd", "svd",
                                           "powersgd-alternating", "acp-sgd"),
                         hook_name);

TEST_P(EveryBaseline, CountsItsTensors) {
  Job<float> job(GetParam(), baseline_options(), awkward_shapes, 2, Members::per_rank, 4);
  double before = 0;
  double after = 0;
  for (unsigned step = 0; step < 4; ++step) {
    job.set_random_gradients(step);
    job.step();
    for (std::size_t position = 0; position < job.layout().buckets.size(); ++position) {
      const compress::BucketOutcome& outcome = job.hook().outcome(position);
      double bytes = 0;
      std::int64_t elements = 0;
      bool compressed = false;
      for (std::size_t i = 0; i < outcome.tensors.size(); ++i) {
        const std::int64_t numel = job.layout().buckets[position].tensors[i].numel;
        EXPECT_EQ(outcome.tensors[i].numel_before, numel);
        EXPECT_EQ(static_cast<double>(outcome.tensors[i].numel_after), std::ceil(outcome.tensors[i].bytes_sent / 4));
        EXPECT_TRUE(numel > 0 || outcome.tensors[i].bytes_sent == 0);
        bytes += outcome.tensors[i].bytes_sent;
        elements += outcome.tensors[i].numel_after;
        compressed = compressed || outcome.tensors[i].compressed;
      }
      EXPECT_EQ(outcome.compressed, compressed);
      EXPECT_EQ(outcome.bytes_sent, bytes);
      EXPECT_LE(std::abs(outcome.numel_after - elements), 1);  // casts round a bucket up as a whole
      if (step >= 1 || !compress::hook(GetParam()).keeps_errors) {
        before += static_cast<double>(outcome.numel_before);
        after += static_cast<double>(outcome.numel_after);
      }
    }
  }
  const compress::CompressionStats stats = job.hook().compression_stats();
  EXPECT_EQ(static_cast<double>(stats.numel_before), before);
  EXPECT_NEAR(static_cast<double>(stats.numel_after), after, 8);  // casts count a bucket as one
  EXPECT_NEAR(stats.rate, before / after, 0.02 * before / after);
}

TEST_P(EveryBaseline, RunsTwiceAlike) {
  Job<float> one(GetParam(), baseline_options(), awkward_shapes, 2, Members::per_rank, 3);
  Job<float> other(GetParam(), baseline_options(), awkward_shapes, 2, Members::per_rank, 3);
  for (unsigned step = 0; step < 4; ++step) {
    one.set_random_gradients(step);
    other.set_random_gradients(step);
    one.step();
    other.step();
    for (std::int64_t i = 0; i < one.layout().extent; ++i)
      ASSERT_EQ(one.averaged(i), other.averaged(i)) << "step " << step;
  }
}

TEST_P(EveryBaseline, SpreadsNaNNoFurtherThanItsTensor) {
  Job<float> job(GetParam(), baseline_options(0), {{6, 7}, {6, 7}}, 2, Members::per_rank);
  std::size_t at = 0;
  job.set_gradients(
      [&] { return at++ == 10 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(at % 7) - 3.0; });
  for (int step = 0; step < 3; ++step) job.step();
  for (std::int64_t i = job.layout().buckets[0].tensors[1].begin; i < job.layout().buckets[0].length; ++i) {
    ASSERT_TRUE(std::isfinite(job.averaged(i))) << i;
  }
}

TEST_P(EveryBaseline, TakesAZeroGradient) {
  Job<float> job(GetParam(), baseline_options(0), {{6, 7}, {5}}, 2, Members::per_rank);
  job.set_gradients([] { return 0.0; });
  for (int step = 0; step < 3; ++step) job.step();
  for (std::int64_t i = 0; i < job.layout().buckets[0].length; ++i) ASSERT_EQ(job.averaged(i), 0.0F);
}

TEST_P(EveryBaseline, SaysWhenMembersHaveToBeProcessRanks) {
  const HookEntry& entry = compress::hook(GetParam());
  std::optional<std::string> message;
  try {
    Job<float> job(GetParam(), baseline_options(), {{6, 7}}, 2, Members::fused);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    message = error.what();
  }
  EXPECT_EQ(message.has_value(), !entry.linear);
  if (message) {
    EXPECT_THAT(*message, HasSubstr("needs --arithmetic per-rank"));
  }
  EXPECT_NO_THROW(Job<float>(GetParam(), baseline_options(), {{6, 7}}, 1, Members::fused));
}

TEST_P(EveryBaseline, KeepsErrorsAsItsEntrySays) {
  const HookEntry& entry = compress::hook(GetParam());
  Job<float> job(GetParam(), baseline_options(2), {{20, 30}, {10}}, 2, Members::per_rank);
  job.set_random_gradients(1);
  job.step();
  job.step();
  EXPECT_EQ(job.hook().error_memory(0, 0), nullptr);
  EXPECT_EQ(job.hook().feeds_back_now(), entry.keeps_errors);
  job.step();
  EXPECT_EQ(job.hook().error_memory(0, 1) != nullptr, entry.keeps_errors);
  EXPECT_EQ(job.hook().outcome(0).tensors[0].members.size(), entry.keeps_errors ? 2U : 0U);

  HookOptions without = baseline_options(2);
  without.power_sgd.use_error_feedback = false;
  without.power_sgd.warm_start = false;
  Job<float> forgetful(GetParam(), without, {{20, 30}, {10}}, 2, Members::per_rank);
  for (unsigned step = 0; step < 3; ++step) {
    forgetful.set_random_gradients(step);
    forgetful.step();
  }
  EXPECT_EQ(forgetful.hook().error_memory(0, 0), nullptr);
  EXPECT_TRUE(forgetful.hook().outcome(0).compressed);
}

/// A run that is cut in two, memory and scalars carried over, goes on as if it had not been.
TEST_P(EveryBaseline, ContinuesFromItsState) {
  const std::vector<Shape> shapes{{20, 30}, {10}, {7, 11}};
  Job<float> whole(GetParam(), baseline_options(2), shapes, 2, Members::per_rank, 2);
  for (unsigned step = 0; step < 5; ++step) {
    whole.set_random_gradients(step);
    whole.step();
  }
  Job<float> second(GetParam(), baseline_options(2), shapes, 2, Members::per_rank, 2);
  if (const compress::PowerSGDState* const saved = whole.hook().state()) {
    second.hook().state()->iter = saved->iter;
    second.hook().state()->rng = saved->rng;
  }
  for (std::size_t position = 0; position < whole.layout().buckets.size(); ++position) {
    second.hook().allocate_memory(position, whole.hook().error_memory(position, 0) != nullptr, false);
  }
  const auto from = whole.hook().memory();
  const auto to = second.hook().memory();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(from[i].kind, to[i].kind);
    ASSERT_EQ(from[i].count, to[i].count);
    std::copy_n(from[i].data, from[i].count, to[i].data);
  }
  for (unsigned step = 5; step < 8; ++step) {
    whole.set_random_gradients(step);
    second.set_random_gradients(step);
    whole.step();
    second.step();
    for (std::int64_t i = 0; i < whole.layout().extent; ++i)
      ASSERT_EQ(whole.averaged(i), second.averaged(i)) << "step " << step;
  }
}

}  // namespace
}  // namespace psgd
