#include "libpsgd/base/torch_generator.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "tests/support/sha256.hpp"

// Expected values: torch 1.13.1 on x86-64; hashes are the first 12 digits of SHA-256 over the raw little-endian
// numbers.
namespace psgd {
namespace {

constexpr std::uint64_t kSeed = 209652396;  // the first seed a hook with random_seed 0 draws

std::string hash_of(std::span<const std::byte> bytes) { return test::Sha256::hex(bytes).substr(0, 12); }

template <typename Real>
std::vector<Real> randn(TorchGenerator& generator, std::size_t size) {
  std::vector<Real> values(size);
  generator.randn(std::span(values));
  return values;
}

template <typename Real>
std::string randn_hash(std::uint64_t seed, std::size_t size) {
  TorchGenerator generator(seed);
  const std::vector<Real> values = randn<Real>(generator, size);
  return hash_of(std::as_bytes(std::span(values)));
}

/// The numbers of several calls, end to end.
class Recorder {
 public:
  explicit Recorder(TorchGenerator& generator) : generator_(generator) {}

  template <typename Real>
  Recorder& draw(std::size_t size) {
    const std::vector<Real> values = randn<Real>(generator_, size);
    const auto bytes = std::as_bytes(std::span(values));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  TorchGenerator& generator_;
  std::vector<std::byte> bytes_;
};

struct SizeCase {
  std::size_t size;
  const char* float_hash;
  const char* double_hash;
};

TEST(TorchGenerator, RandnMatchesTorchForEverySizeClass) {
  const SizeCase cases[] = {
      {5, "d03bd762cd2f", "abbf8df100fd"},       {16, "07dfa250a649", "23851fbe6dea"},
      {17, "a29437d4e93e", "1c3e15834a99"},      {100, "93b77f8114e1", "7b1938e94fc3"},
      {100'000, "03f17bf7d439", "e578a97d7f67"},
  };
  for (const SizeCase& expected : cases) {
    EXPECT_EQ(randn_hash<float>(kSeed, expected.size), expected.float_hash) << "float, n = " << expected.size;
    EXPECT_EQ(randn_hash<double>(kSeed, expected.size), expected.double_hash) << "double, n = " << expected.size;
  }
}

TEST(TorchGenerator, RandnMatchesTorchAtTheBoundsOfTheSeed) {
  EXPECT_EQ(randn_hash<float>(0, 40), "3d83bed30787");
  EXPECT_EQ(randn_hash<double>(0, 40), "1f4457a52ecb");
  EXPECT_EQ(randn_hash<float>(0xffffffffU, 40), "c94195c080eb");
  EXPECT_EQ(randn_hash<double>(0xffffffffU, 40), "d419de8f153f");
}

TEST(TorchGenerator, SeedsByTheLow32Bits) {
  EXPECT_EQ(randn_hash<float>((std::uint64_t{1} << 32) + 5, 40), "7b369de31929");
  EXPECT_EQ(randn_hash<float>(5, 40), "7b369de31929");
  EXPECT_EQ(TorchGenerator(~std::uint64_t{0}).state(), TorchGenerator(0xffffffffU).state());
}

TEST(TorchGenerator, UniformsMatchTorch) {
  TorchGenerator generator(kSeed);
  std::vector<float> floats(9);
  for (float& value : floats) {
    value = generator.uniform_float();
  }
  std::vector<double> doubles(9);
  for (double& value : doubles) {
    value = generator.uniform_double();
  }
  const auto float_bytes = std::as_bytes(std::span(floats));
  std::vector<std::byte> bytes(float_bytes.begin(), float_bytes.end());
  const auto double_bytes = std::as_bytes(std::span(doubles));
  bytes.insert(bytes.end(), double_bytes.begin(), double_bytes.end());
  EXPECT_EQ(hash_of(bytes), "416acfe5c397");
}

TEST(TorchGenerator, AMixedSequenceMatchesTorch) {
  // Odd small calls leave a normal in the cache; it survives large calls and crosses from one dtype to the other.
  TorchGenerator generator(kSeed);
  Recorder recorder(generator);
  recorder.draw<float>(3).draw<double>(5).draw<float>(20).draw<float>(1).draw<double>(33);
  recorder.draw<double>(15).draw<float>(0).draw<float>(7).draw<float>(16).draw<double>(2);
  EXPECT_EQ(hash_of(recorder.bytes()), "ce360e4f83ec");
}

TEST(TorchGenerator, SmallCallsShareOneStreamOfPairs) {
  TorchGenerator one(7);
  TorchGenerator many(7);
  const std::vector<double> together = randn<double>(one, 15);
  for (const double expected : together) {
    EXPECT_EQ(randn<double>(many, 1).front(), expected);
  }
  EXPECT_EQ(one.state(), many.state());
}

TEST(TorchGenerator, SeedingDropsTheCachedNormal) {
  TorchGenerator generator(7);
  randn<float>(generator, 3);
  EXPECT_TRUE(generator.state().cached_normal.has_value());
  generator.manual_seed(7);
  EXPECT_EQ(generator.state(), TorchGenerator(7).state());
}

TEST(TorchGenerator, AnEmptySpanDrawsNothing) {
  TorchGenerator generator(kSeed);
  randn<float>(generator, 1);
  const TorchGenerator::State before = generator.state();
  generator.randn(std::span<float>());
  generator.randn(std::span<double>());
  EXPECT_EQ(generator.state(), before);
}

TEST(TorchGenerator, ContinuesFromASavedState) {
  for (const std::size_t drawn : {0U, 3U, 4U, 17U, 1000U}) {  // with and without a cached normal
    TorchGenerator original(kSeed);
    randn<double>(original, drawn);
    TorchGenerator restored(0);
    restored.set_state(original.state());
    const auto draw_on = [](TorchGenerator& generator) {
      return Recorder(generator).draw<float>(3).draw<double>(700).draw<double>(2).draw<float>(2000).bytes();
    };
    EXPECT_EQ(draw_on(restored), draw_on(original)) << drawn << " drawn before";
  }
}

TEST(TorchGenerator, RefusesAnUnsoundState) {
  TorchGenerator generator(kSeed);
  TorchGenerator::State wrong = generator.state();
  wrong.engine.position = 625;
  EXPECT_THROW(generator.set_state(wrong), Error);
}

TEST(TorchGenerator, AZeroUniformGivesPositiveZero) {
  // An engine of zeros draws only zeros: the radius is sqrt(-2 ln 1) = -0, which torch turns into +0 by adding the
  // mean.
  TorchGenerator generator(0);
  generator.set_state({});
  for (const std::size_t size : {4U, 16U}) {
    for (const float value : randn<float>(generator, size)) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0U);
    }
    for (const double value : randn<double>(generator, size)) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(value), 0U);
    }
  }
}

TEST(TorchGenerator, EveryInstructionSetGivesTheSameBits) {
  if (detail::best_instruction_set() == detail::InstructionSet::baseline) {
    GTEST_SKIP() << "this processor or build has only the baseline";
  }
  TorchGenerator generator(1);
  std::vector<float> baseline(1 << 18);
  for (float& value : baseline) {
    value = generator.uniform_float();
  }
  baseline[0] = 0.0F;
  baseline[8] = 0.0F;
  baseline[1] = 1.0F - 0x1p-24F;
  baseline[9] = 1.0F - 0x1p-24F;
  std::vector<float> fast = baseline;
  detail::box_muller(baseline, detail::InstructionSet::baseline);
  detail::box_muller(fast, detail::InstructionSet::avx2_fma);
  EXPECT_EQ(hash_of(std::as_bytes(std::span(fast))), hash_of(std::as_bytes(std::span(baseline))));
}

}  // namespace
}  // namespace psgd
