#include "libpsgd/base/torch_generator.hpp"

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <numbers>

// Bit-exactness rests on each operation below being rounded once, in its own type, as written.
#if defined(__FAST_MATH__)
#error "torch_generator.cpp must be compiled without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "float and double expressions must not carry excess precision");

#define PSGD_ALWAYS_INLINE [[gnu::always_inline]] inline

namespace psgd {

namespace {

constexpr std::size_t block_size = 16;
constexpr std::size_t block_pairs = block_size / 2;

// ---------------------------------------------------------------------------------------------------------------------------------
// Single-precision log and sincos, with the polynomials and the order of operations of avx_mathfun.h (in turn those of
// the Cephes library by Stephen L. Moshier). An altered version: scalar, restricted to the arguments that Box–Muller
// meets, and with the multiply-adds fused where PyTorch's build fuses them. The original's notice:
//
//   AVX implementation of sin, cos, sincos, exp and log
//   Based on "sse_mathfun.h", by Julien Pommier, http://gruntthepeon.free.fr/ssemath/
//   Copyright (C) 2012 Giovanni Garberoglio, Interdisciplinary Laboratory for Computational Science (LISC),
//   Fondazione Bruno Kessler and University of Trento, via Sommarive, 18, I-38123 Trento (Italy)
//
//   This software is provided 'as-is', without any express or implied warranty. In no event will the authors be held
//   liable for any damages arising from the use of this software.
//
//   Permission is granted to anyone to use this software for any purpose, including commercial applications, and to
//   alter it and redistribute it freely, subject to the following restrictions:
//   1. The origin of this software must not be misrepresented; you must not claim that you wrote the original software.
//   If you use this
//      software in a product, an acknowledgment in the product documentation would be appreciated but is not required.
//   2. Altered source versions must be plainly marked as such, and must not be misrepresented as being the original
//   software.
//   3. This notice may not be removed or altered from any source distribution.
//   (this is the zlib license)
//
// -ffp-contract cannot change a bit here: it may only merge a product into the sum that consumes it, and wherever
// PyTorch fuses, the fused operation is explicit, while no product written with * is ever an operand of + or - (it goes
// into a fused operation, another product or a root). Without FMA hardware __builtin_fmaf calls the C library's fmaf,
// which is exact too. Forcing the inlining lets the bodies below compile these with their own instruction set, where
// fused operations are single instructions.

PSGD_ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

/// ln x for a positive, normal x.
PSGD_ALWAYS_INLINE float cephes_log(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const float mantissa = std::bit_cast<float>((bits & 0x007fffffU) | 0x3f000000U);  // in [0.5, 1)
  const bool below = mantissa < 0.707106781186547524F;
  const float exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - (below ? 127 : 126));
  const float t = (mantissa - 1.0F) + (below ? mantissa : 0.0F);  // exact, in [√½ − 1, √2 − 1)
  const float t2 = t * t;

  float y = 7.0376836292E-2F;
  y = fused(y, t, -1.1514610310E-1F);
  y = fused(y, t, 1.1676998740E-1F);
  y = fused(y, t, -1.2420140846E-1F);
  y = fused(y, t, 1.4249322787E-1F);
  y = fused(y, t, -1.6668057665E-1F);
  y = fused(y, t, 2.0000714765E-1F);
  y = fused(y, t, -2.4999993993E-1F);
  y = fused(y, t, 3.3333331174E-1F);
  y = y * t;
  const float low = exponent * -2.12194440E-4F;  // ln 2 in two parts: this and 0.693359375
  y = fused(y, t2, low);
  y = fused(-t2, 0.5F, y);
  return fused(exponent, 0.693359375F, t + y);
}

struct SinCos {
  float sin;
  float cos;
};

/// sin x and cos x for 0 <= x <= 8192.
PSGD_ALWAYS_INLINE SinCos cephes_sincos(float x) {
  // The octant, rounded up to even: x − octant·π/4 lies in [−π/4, π/4].
  const std::int32_t octant = (static_cast<std::int32_t>(x * 1.27323954473516F) + 1) & ~1;
  const float multiple = static_cast<float>(octant);
  float t = fused(multiple, -0.78515625F, x);  // π/4 in three parts
  t = fused(multiple, -2.4187564849853515625E-4F, t);
  t = fused(multiple, -3.77489497744594108E-8F, t);
  const float t2 = t * t;

  float c = 2.443315711809948E-5F;
  c = fused(c, t2, -1.388731625493765E-3F);
  c = fused(c, t2, 4.166664568298827E-2F);
  c = c * t2;
  c = fused(c, t2, t2 * -0.5F) + 1.0F;

  float s = -1.9515295891E-4F;
  s = fused(s, t2, 8.3321608736E-3F);
  s = fused(s, t2, -1.6666654611E-1F);
  s = s * t2;
  s = fused(s, t, t);

  // Octants 2 and 6 swap the two; 4 and 6 negate the sine, 2 and 4 the cosine.
  const bool swap = (octant & 2) != 0;
  const float sine = swap ? c : s;
  const float cosine = swap ? s : c;
  return {(octant & 4) != 0 ? -sine : sine, ((octant + 2) & 4) != 0 ? -cosine : cosine};
}
// ---------------------------------------------------------------------------------------------------------------------------------

/// One block of the float32 transform. Arrays between the loops keep each loop simple enough for the compiler to
/// vectorize.
PSGD_ALWAYS_INLINE void box_muller_block(float* block) {
  constexpr float two_pi = static_cast<float>(2.0 * std::numbers::pi);
  float radius[block_pairs];
  for (std::size_t j = 0; j < block_pairs; ++j) {
    radius[j] = -2.0F * cephes_log(1.0F - block[j]);
  }
  for (float& r : radius) {
    r = std::sqrt(r);
  }
  for (std::size_t j = 0; j < block_pairs; ++j) {
    const SinCos angle = cephes_sincos(two_pi * block[j + block_pairs]);
    // PyTorch scales by the standard deviation 1 and adds the mean 0, which makes −0 into +0. (Fused or not, adding 0
    // rounds once.)
    block[j] = radius[j] * angle.cos + 0.0F;
    block[j + block_pairs] = radius[j] * angle.sin + 0.0F;
  }
}

PSGD_ALWAYS_INLINE void box_muller_blocks(std::span<float> blocks) {
  for (std::size_t i = 0; i + block_size <= blocks.size(); i += block_size) {
    box_muller_block(blocks.data() + i);
  }
}

void box_muller_baseline(std::span<float> blocks) { box_muller_blocks(blocks); }

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void box_muller_avx2_fma(std::span<float> blocks) { box_muller_blocks(blocks); }
#endif

void transform(std::span<float> blocks) { detail::box_muller(blocks, detail::best_instruction_set()); }

void transform(std::span<double> blocks) {
  for (std::size_t i = 0; i + block_size <= blocks.size(); i += block_size) {
    double* block = blocks.data() + i;
    for (std::size_t j = 0; j < block_pairs; ++j) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - block[j]));
      const double theta = 2.0 * std::numbers::pi * block[j + block_pairs];
      block[j] = radius * std::cos(theta) + 0.0;
      block[j + block_pairs] = radius * std::sin(theta) + 0.0;
    }
  }
}

/// The path for 16 elements or more; `fill_uniform` fills a span with fresh uniforms.
template <typename Real, typename FillUniform>
void randn_blocks(std::span<Real> out, FillUniform fill_uniform) {
  const std::size_t rest = out.size() % block_size;
  fill_uniform(out);
  transform(out.first(out.size() - rest));
  if (rest != 0) {
    const std::span<Real> tail = out.last(block_size);  // overlaps the last whole block, as in PyTorch
    fill_uniform(tail);
    transform(tail);
  }
}

}  // namespace

detail::InstructionSet detail::best_instruction_set() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::avx2_fma;
  }
#endif
  return InstructionSet::baseline;
}

void detail::box_muller(std::span<float> blocks, [[maybe_unused]] InstructionSet instructions) noexcept {
#if defined(__x86_64__)
  if (instructions == InstructionSet::avx2_fma) {
    box_muller_avx2_fma(blocks);
    return;
  }
#endif
  box_muller_baseline(blocks);
}

void TorchGenerator::manual_seed(std::uint64_t seed) noexcept {
  engine_.init_genrand(static_cast<std::uint32_t>(seed));
  cached_normal_.reset();
}

float TorchGenerator::uniform_float() noexcept { return static_cast<float>(engine_.next32() & 0x00ffffffU) * 0x1p-24F; }

double TorchGenerator::uniform_double() noexcept {
  const std::uint64_t high = engine_.next32();
  const std::uint64_t word = (high << 32) | engine_.next32();
  return static_cast<double>(word & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double TorchGenerator::next_normal() noexcept {
  if (cached_normal_) {
    const double normal = *cached_normal_;
    cached_normal_.reset();
    return normal + 0.0;
  }
  const double u1 = uniform_double();
  const double u2 = uniform_double();
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u2));
  const double theta = 2.0 * std::numbers::pi * u1;
  cached_normal_ = radius * std::sin(theta);
  return radius * std::cos(theta) + 0.0;
}

void TorchGenerator::randn(std::span<float> out) noexcept {
  if (out.size() >= block_size) {
    randn_blocks(out, [this](std::span<float> span) {
      for (float& element : span) {
        element = uniform_float();
      }
    });
    return;
  }
  for (float& element : out) {
    element = static_cast<float>(next_normal());
  }
}

void TorchGenerator::randn(std::span<double> out) noexcept {
  if (out.size() >= block_size) {
    randn_blocks(out, [this](std::span<double> span) {
      for (double& element : span) {
        element = uniform_double();
      }
    });
    return;
  }
  for (double& element : out) {
    element = next_normal();
  }
}

void TorchGenerator::set_state(const State& state) {
  engine_.set_state(state.engine);
  cached_normal_ = state.cached_normal;
}

}  // namespace psgd
