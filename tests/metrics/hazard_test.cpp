#include "libpsgd/metrics/hazard.hpp"

#include <gtest/gtest.h>

namespace psgd::metrics {
namespace {

TEST(HazardLog, KeepsTheFirstAndCounts) {
  HazardLog log;
  Hazard hazard;
  hazard.kind = HazardKind::zero_gradient;
  hazard.parameter = "a";
  hazard.step = 3;
  log.add(hazard);
  hazard.step = 4;
  log.add(hazard);
  hazard.process_rank = 1;
  log.add(hazard);
  ASSERT_EQ(log.entries().size(), 2U);
  EXPECT_EQ(log.entries()[0].count, 2);
  EXPECT_EQ(log.entries()[0].step, 3);
  EXPECT_EQ(log.entries()[1].process_rank, 1);
}

TEST(HazardKind, HasNames) {
  EXPECT_EQ(to_string(HazardKind::non_finite_input), "non-finite-input");
  EXPECT_EQ(to_string(HazardKind::rounding_not_emulated), "rounding-not-emulated");
}

}  // namespace
}  // namespace psgd::metrics
