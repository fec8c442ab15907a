#include <gtest/gtest.h>

#include <cmath>

#include "tests/compress/job.hpp"

namespace psgd {
namespace {

using test::Job;
using test::Members;

TEST(BytesSent, AreElementsInTheBucketsTypeWithPowerSGD) {
  Job<float> single("powersgd", test::hook_options(2), {{32, 64}, {10}, {0}}, 3, Members::fused);
  Job<double> twice("powersgd", test::hook_options(2), {{32, 64}, {10}, {0}}, 3, Members::per_rank);
  single.set_random_gradients(1);
  twice.set_random_gradients(1);
  single.step();
  EXPECT_EQ(single.hook().outcome(0).bytes_sent, 4 * (32 * 64 + 10));
  EXPECT_EQ(single.hook().outcome(0).tensors[0].bytes_sent, 4 * 32 * 64);
  for (int step = 0; step < 2; ++step) single.step();
  for (int step = 0; step < 3; ++step) twice.step();
  EXPECT_EQ(single.hook().outcome(0).bytes_sent, 4 * ((32 + 64) * 2 + 10));
  EXPECT_EQ(single.hook().outcome(0).tensors[0].bytes_sent, 4 * (32 + 64) * 2);
  EXPECT_EQ(single.hook().outcome(0).tensors[1].bytes_sent, 4 * 10);
  EXPECT_EQ(single.hook().outcome(0).tensors[2].bytes_sent, 0);
  EXPECT_EQ(twice.hook().outcome(0).bytes_sent, 8 * ((32 + 64) * 2 + 10));
}

TEST(BytesSent, BelongToTheBucketWhereASquareIsCompressed) {
  for (const char* hook : {"batched", "original"}) {
    Job<float> job(hook, test::hook_options(3), {{9, 9}, {19}}, 2, Members::fused);
    for (unsigned step = 0; step < 3; ++step) {
      job.set_random_gradients(step);
      job.step();
    }
    EXPECT_EQ(job.hook().outcome(0).bytes_sent, 4 * 2 * 10 * 3) << hook;
    EXPECT_TRUE(std::isnan(job.hook().outcome(0).tensors[0].bytes_sent)) << hook;
  }
}

TEST(BytesSent, AreAllWithoutCompression) {
  Job<double> job("none", {}, {{7, 5}, {3}}, 2, Members::fused);
  job.set_random_gradients(1);
  job.step();
  EXPECT_EQ(job.hook().outcome(0).bytes_sent, 8 * 38);
}

}  // namespace
}  // namespace psgd
