#include "libpsgd/base/mt19937.hpp"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

TEST(Mt19937, GivesTheStandardsTenThousandthNumber) {
  Mt19937 engine(5489);
  for (int i = 0; i < 9999; ++i) {
    engine.next32();
  }
  EXPECT_EQ(engine.next32(), 4123659995U);  // required of std::mt19937 by [rand.predef]
}

TEST(Mt19937, AgreesWithTheStandardLibraryForManySeeds) {
  for (const std::uint32_t seed : {0U, 1U, 42U, 209652396U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    Mt19937 engine(seed);
    std::mt19937 reference(seed);
    for (int i = 0; i < 2000; ++i) {
      ASSERT_EQ(engine.next32(), reference()) << "seed " << seed << ", draw " << i;
    }
  }
}

TEST(Mt19937, SeedingLeavesAllWordsSpent) {
  const Mt19937 engine(1);
  EXPECT_EQ(engine.state().position, 624U);
  EXPECT_EQ(engine.state().words[0], 1U);
  EXPECT_EQ(engine.state().words[1], 0x6c078966U);
  EXPECT_EQ(engine.state().words[623], 0x7b5687a5U);
}

TEST(Mt19937, PositionCountsTheWordsDrawn) {
  Mt19937 engine(1);
  engine.next32();
  EXPECT_EQ(engine.state().position, 1U);
  for (int i = 1; i < 624; ++i) {
    engine.next32();
  }
  EXPECT_EQ(engine.state().position, 624U);
  engine.next32();
  EXPECT_EQ(engine.state().position, 1U);
}

TEST(Mt19937, ReseedingForgetsThePast) {
  Mt19937 used(7);
  for (int i = 0; i < 1000; ++i) {
    used.next32();
  }
  used.init_genrand(8);
  EXPECT_EQ(used.state(), Mt19937(8).state());
}

TEST(Mt19937, ContinuesFromAnyState) {
  // Before the first draw, inside a block of words, and at its very end.
  for (const int drawn : {0, 1, 397, 623, 624, 625, 1000}) {
    Mt19937 original(99);
    for (int i = 0; i < drawn; ++i) {
      original.next32();
    }
    Mt19937 restored(0);
    restored.set_state(original.state());
    for (int i = 0; i < 1300; ++i) {
      ASSERT_EQ(restored.next32(), original.next32()) << drawn << " drawn before, draw " << i;
    }
  }
}

TEST(Mt19937, RefusesAPositionOutsideTheState) {
  Mt19937 engine(3);
  const Mt19937::State before = engine.state();
  Mt19937::State wrong = before;
  wrong.position = 625;
  EXPECT_THROW(engine.set_state(wrong), Error);
  EXPECT_EQ(engine.state(), before);
}

}  // namespace
}  // namespace psgd
