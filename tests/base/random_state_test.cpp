#include "libpsgd/base/random_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "tests/support/sha256.hpp"

// Expected values: NumPy 1.24.2.
namespace psgd {
namespace {

constexpr std::uint32_t kSeedBound = 1'000'000'000;  // what the PowerSGD hook draws its seeds below

std::array<std::uint32_t, 5> draw_five(RandomState& random, std::uint32_t high) {
  std::array<std::uint32_t, 5> values{};
  for (std::uint32_t& value : values) {
    value = random.randint(high);
  }
  return values;
}

struct SeedCase {
  std::uint32_t seed;
  std::array<std::uint32_t, 5> values;
  std::uint32_t position;  // more than 5 where words were rejected
};

TEST(RandomState, DrawsTheHooksSeeds) {
  const SeedCase cases[] = {
      {0, {209652396, 398764591, 924231285, 404868288, 441365315}, 5},
      {1, {717354021, 946286476, 784077896, 491263, 550290313}, 6},
      {4294967295, {419326371, 479346978, 697429004, 269265991, 167655348}, 5},
  };
  for (const SeedCase& expected : cases) {
    RandomState random(expected.seed);
    EXPECT_EQ(draw_five(random, kSeedBound), expected.values) << "seed " << expected.seed;
    EXPECT_EQ(random.state().position, expected.position) << "seed " << expected.seed;
  }
}

struct BoundCase {
  std::uint32_t high;
  std::array<std::uint32_t, 5> values;
  std::uint32_t position;
};

TEST(RandomState, MasksAndRejectsForAnyBound) {
  const BoundCase cases[] = {
      {1, {0, 0, 0, 0, 0}, 624},  // nothing to choose: no word drawn
      {2, {0, 1, 0, 0, 0}, 5},
      {3, {2, 0, 2, 2, 0}, 7},
      {7, {6, 3, 4, 6, 2}, 5},
      {10, {6, 3, 7, 4, 6}, 9},
      {256, {102, 179, 92, 14, 106}, 5},
      {257, {102, 106, 71, 188, 20}, 8},
      {1000, {102, 435, 860, 270, 106}, 5},
      {2147483648, {1608637542, 1273642419, 1935803228, 787846414, 996406378}, 5},
      {2147483649, {1608637542, 787846414, 670094950, 1914837113, 669991378}, 11},
      {4294967295, {1608637542, 3421126067, 4083286876, 787846414, 3143890026}, 5},
  };
  for (const BoundCase& expected : cases) {
    RandomState random(42);
    EXPECT_EQ(draw_five(random, expected.high), expected.values) << "high " << expected.high;
    EXPECT_EQ(random.state().position, expected.position) << "high " << expected.high;
  }
}

TEST(RandomState, RefusesAnEmptyRange) {
  RandomState random(0);
  EXPECT_THROW(random.randint(0), Error);
}

TEST(RandomState, StateIsNumpysAfterManyDraws) {
  RandomState random(12345);
  for (int i = 0; i < 1000; ++i) {
    random.randint(kSeedBound);
  }
  const auto key = test::Sha256::hex(std::as_bytes(std::span(random.state().words)));
  EXPECT_EQ(random.state().position, 445U);
  EXPECT_EQ(key.substr(0, 12), "5a9ea7d2cabc");
  EXPECT_EQ(random.randint(kSeedBound), 187694679U);
}

TEST(RandomState, ContinuesFromASavedState) {
  RandomState original(2020);
  draw_five(original, kSeedBound);
  RandomState restored(0);
  restored.set_state(original.state());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(restored.randint(kSeedBound), original.randint(kSeedBound)) << "draw " << i;
  }
}

TEST(RandomState, RefusesAnUnsoundState) {
  RandomState random(0);
  Mt19937::State wrong = random.state();
  wrong.position = 0xffffffffU;
  EXPECT_THROW(random.set_state(wrong), Error);
}

}  // namespace
}  // namespace psgd
