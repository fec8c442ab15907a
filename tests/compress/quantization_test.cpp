#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libpsgd/base/error.hpp"
#include "tests/compress/job.hpp"

/// Signs, levels and half precision.
namespace psgd {
namespace {

using compress::HookOptions;
using test::Job;
using test::Members;

HookOptions from_the_first_step() {
  HookOptions options = test::hook_options(1);
  options.power_sgd.start_powerSGD_iter = 0;
  return options;
}

template <class T>
void set_values(Job<T>& job, const std::vector<double>& values) {
  std::size_t at = 0;
  job.set_gradients([&] { return values[at++]; });
}

TEST(SignNorm, ScalesSignsByTheMeanMagnitude) {
  Job<double> job("sign-norm", from_the_first_step(), {{5}, {2}}, 1, Members::per_rank);
  set_values(job, {1, -2, 0, 4, -3, 10, 10});
  job.step();
  const std::vector<double> expected{2, -2, 2, 2, -2, 10, 10};  // a bit has no zero
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_EQ(job.averaged(i), expected[static_cast<std::size_t>(i)]) << i;
  const Bucket& bucket = job.layout().buckets[0];
  EXPECT_EQ(job.error(0, bucket, 0), -1);
  EXPECT_EQ(job.error(0, bucket, 2), -2);
  EXPECT_EQ(job.error(0, bucket, 5), 0);
}

TEST(SignNorm, SendsABitAnElementAndTheNorm) {
  Job<float> job("sign-norm", from_the_first_step(), {{3, 3}, {16}, {0}}, 2, Members::per_rank);
  Job<double> in_double("sign-norm", from_the_first_step(), {{3, 3}}, 2, Members::per_rank);
  job.set_random_gradients(1);
  in_double.set_random_gradients(1);
  job.step();
  in_double.step();
  EXPECT_EQ(job.hook().outcome(0).tensors[0].bytes_sent, 2 + 4);
  EXPECT_EQ(job.hook().outcome(0).tensors[1].bytes_sent, 2 + 4);
  EXPECT_EQ(job.hook().outcome(0).tensors[2].bytes_sent, 0);
  EXPECT_EQ(in_double.hook().outcome(0).bytes_sent, 2 + 8);
}

TEST(Qsgd, LandsOnLevelsOfTheNorm) {
  HookOptions options;
  options.baseline.quantization_bits = 3;
  options.baseline.quantization_chunk = 7;
  Job<double> job("qsgd", options, {{30}}, 1, Members::per_rank);
  job.set_random_gradients(4);
  job.step();
  for (std::int64_t begin = 0; begin < 30; begin += 7) {
    double norm = 0;
    for (std::int64_t i = begin; i < std::min<std::int64_t>(begin + 7, 30); ++i) norm += job.mean(i) * job.mean(i);
    norm = std::sqrt(norm);
    for (std::int64_t i = begin; i < std::min<std::int64_t>(begin + 7, 30); ++i) {
      const double level = job.averaged(i) / norm * 3;  // 3 bits: a sign and levels 0 … 3
      EXPECT_NEAR(level, std::round(level), 1e-12);
      EXPECT_LE(std::abs(level - job.mean(i) / norm * 3), 1 + 1e-12);
      EXPECT_LE(std::abs(level), 3 + 1e-12);
    }
  }
}

TEST(Qsgd, IsUnbiased) {
  constexpr int steps = 3000;
  constexpr std::int64_t size = 40;
  for (const int bits : {2, 4, 8}) {
    HookOptions options;
    options.baseline.quantization_bits = bits;
    options.baseline.quantization_chunk = 16;
    Job<double> job("qsgd", options, {{size}}, 2, Members::per_rank);
    job.set_random_gradients(11);
    std::vector<double> sums(size, 0.0);
    for (int step = 0; step < steps; ++step) {
      job.step();
      for (std::int64_t i = 0; i < size; ++i) sums[static_cast<std::size_t>(i)] += job.averaged(i);
    }
    for (std::int64_t i = 0; i < size; ++i) {
      // A rank's rounding has a variance of at most a quarter of a level squared.
      double variance = 0;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        double norm_sq = 0;
        for (std::int64_t k = i / 16 * 16; k < std::min<std::int64_t>(i / 16 * 16 + 16, size); ++k)
          norm_sq += std::pow(job.gradient(rank, k), 2);
        variance += norm_sq / std::pow((1 << (bits - 1)) - 1, 2) / 4;
      }
      EXPECT_NEAR(sums[static_cast<std::size_t>(i)] / steps, job.mean(i), 5 * std::sqrt(variance / 4 / steps))
          << bits << " bits, " << i;
    }
  }
}

TEST(Qsgd, SendsLevelsAndNorms) {
  HookOptions options;
  options.baseline.quantization_bits = 3;
  options.baseline.quantization_chunk = 8;
  Job<float> job("qsgd", options, {{3, 7}}, 1, Members::per_rank);
  job.set_random_gradients(1);
  job.step();
  EXPECT_EQ(job.hook().outcome(0).bytes_sent, 8 + 3 * 4);  // ⌈21·3/8⌉ and three norms
  options.baseline.quantization_chunk = 0;
  Job<float> whole("qsgd", options, {{3, 7}, {0}}, 1, Members::per_rank);
  whole.set_random_gradients(1);
  whole.step();
  EXPECT_EQ(whole.hook().outcome(0).bytes_sent, 8 + 4);
}

TEST(Qsgd, RefusesWidthsItCannotSend) {
  HookOptions options;
  options.baseline.quantization_bits = 1;
  EXPECT_THROW(Job<float>("qsgd", options, {{4}}, 1, Members::per_rank), Error);
  options.baseline.quantization_bits = 17;
  EXPECT_THROW(Job<float>("qsgd", options, {{4}}, 1, Members::per_rank), Error);
  options.baseline.quantization_bits = 4;
  options.baseline.quantization_chunk = -1;
  EXPECT_THROW(Job<float>("qsgd", options, {{4}}, 1, Members::per_rank), Error);
}

/// To the nearest multiple of a number's quantum, ties to even; computed otherwise than in the library.
double to_half(double value, int precision, int smallest_exponent, double largest) {
  const double number = static_cast<double>(static_cast<float>(value));
  if (number == 0 || !std::isfinite(number)) return number;
  const int exponent = std::max(std::ilogb(number), smallest_exponent);
  const double quantum = std::ldexp(1.0, exponent - precision);
  const double rounded = std::nearbyint(number / quantum) * quantum;
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), rounded) : rounded;
}

template <class T>
void expect_as_pytorch(const char* hook, int precision, int smallest_exponent, double largest) {
  constexpr std::size_t ranks = 3;
  Job<T> job(hook, {}, {{1000}}, ranks, Members::per_rank);
  std::mt19937 engine(8);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-28, 18);
  job.set_gradients([&] { return std::ldexp(normal(engine), exponent(engine)); });
  job.step();
  for (std::int64_t i = 0; i < 1000; ++i) {
    double sum = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double cast = to_half(static_cast<double>(job.gradient(rank, i)), precision, smallest_exponent, largest);
      sum = to_half(sum + to_half(cast / 3, precision, smallest_exponent, largest), precision, smallest_exponent,
                    largest);
    }
    if (std::isnan(sum)) {
      EXPECT_TRUE(std::isnan(job.averaged(i))) << i;
    } else {
      EXPECT_EQ(static_cast<double>(job.averaged(i)), sum) << i;
    }
  }
}

TEST(HalfCast, RoundsWherePyTorchDoes) {
  expect_as_pytorch<float>("float16", 10, -14, 65504);
  expect_as_pytorch<double>("float16", 10, -14, 65504);
  expect_as_pytorch<float>("bfloat16", 7, -126, std::numeric_limits<float>::max());
  expect_as_pytorch<double>("bfloat16", 7, -126, std::numeric_limits<float>::max());
}

/// torch 1.13.1: tensor.to(torch.float16).div_(3)
TEST(HalfCast, GivesPyTorchsNumbers) {
  Job<double> one("float16", {}, {{8}}, 1, Members::per_rank);
  set_values(one, {65519, 65520, 1e-8, 3.14159, 1e-6, 1e5, -65519, 1 + 0x1p-11 + 0x1p-40});
  one.step();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> cast{65504, infinity, 0, 3.140625, 17 * 0x1p-24, infinity, -65504, 1};
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(one.averaged(i), cast[static_cast<std::size_t>(i)]) << i;
}

TEST(HalfCast, SendsTwoBytesAnElement) {
  for (const char* hook : {"float16", "bfloat16"}) {
    Job<float> job(hook, {}, {{3, 7}, {4}}, 2, Members::per_rank);
    job.set_random_gradients(1);
    job.step();
    EXPECT_EQ(job.hook().outcome(0).bytes_sent, 2 * 25);
    EXPECT_EQ(job.hook().outcome(0).tensors[0].numel_after, 11);
    EXPECT_EQ(job.hook().outcome(0).tensors[1].bytes_sent, 8);
  }
}

}  // namespace
}  // namespace psgd
