#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "libpsgd/base/mt19937.hpp"

namespace psgd {

/// PyTorch's CPU generator: the uniform and normal numbers that `torch.manual_seed` and `torch.randn` give on x86-64.
///
/// Equal to torch 1.13.1 bit by bit:
/// - uniforms on every platform;
/// - float32 normals in spans of 16 or more on every platform with IEEE-754 floats: own arithmetic, independent of
/// compiler options
///   (-ffast-math is refused) and of whether the processor has fused multiply-adds;
/// - all float64 normals, and float32 ones in spans of fewer than 16, as far as the C library's double log, sin and cos
/// round as
///   torch's did: with glibc on x86-64 processors with FMA they do (its variants for others differ now and then in the
///   last bit). Later torch releases take log1p(−u) for log(1 − u) in spans of fewer than 16.
///
/// Sources: ATen/core/DistributionsHelper.h (uniform_real_distribution, normal_distribution),
/// ATen/native/cpu/DistributionTemplates.h (normal_fill, normal_fill_AVX2), ATen/native/cpu/avx_mathfun.h.
class TorchGenerator {
 public:
  /// Everything that decides the numbers to come; see Mt19937::State for the engine's part.
  struct State {
    Mt19937::State engine;
    std::optional<double> cached_normal;

    bool operator==(const State&) const = default;
  };

  /// Same as manual_seed(seed) on an existing generator.
  explicit TorchGenerator(std::uint64_t seed) noexcept : engine_(static_cast<std::uint32_t>(seed)) {}

  /// `torch.manual_seed(seed)`: restarts the engine from the low 32 bits (the high ones do not matter) and forgets the
  /// cached normal.
  void manual_seed(std::uint64_t seed) noexcept;

  /// A multiple of 2^-24 in [0, 1); takes one word of the engine.
  float uniform_float() noexcept;

  /// A multiple of 2^-53 in [0, 1); takes two words of the engine, the high one first.
  double uniform_double() noexcept;

  /// `torch.randn` of a contiguous tensor with out.size() elements, in row-major order; an empty span draws nothing.
  ///
  /// The numbers depend on the size of the call, not only on how many were drawn before:
  /// - fewer than 16: Box–Muller pairs in double, one number at a time. The second of a pair is kept for the next such
  /// call of either
  ///   dtype, until the next manual_seed; calls of 16 or more neither use nor drop it.
  /// - 16 or more: one uniform each, transformed in blocks of 16 (elements j and j + 8 make a pair). When the size is
  /// not a multiple of
  ///   16, the last 16 slots are drawn and transformed once more.
  /// About 8 ns an element in float and 22 ns in double; a processor without fused multiply-adds takes 340 ns in float.
  void randn(std::span<float> out) noexcept;
  void randn(std::span<double> out) noexcept;

  [[nodiscard]] State state() const { return {engine_.state(), cached_normal_}; }

  /// Continues from a state taken earlier. Throws Error::input when the engine's position exceeds 624.
  void set_state(const State& state);

 private:
  double next_normal() noexcept;

  Mt19937 engine_;
  std::optional<double> cached_normal_;
};

namespace detail {

enum class InstructionSet { baseline, avx2_fma };

/// The fastest of the instruction sets that this processor and this build support.
[[nodiscard]] InstructionSet best_instruction_set() noexcept;

/// The float32 transform of TorchGenerator::randn, in place: uniforms (multiples of 2^-24 in [0, 1)) in blocks of 16
/// become normals.
///
/// `blocks`: a multiple of 16 elements; a shorter rest is left alone. The result does not depend on the instruction
/// set, which this processor must support (where the build has no avx2_fma, baseline stands in). Public for the tests'
/// sake.
void box_muller(std::span<float> blocks, InstructionSet instructions) noexcept;

}  // namespace detail

}  // namespace psgd
