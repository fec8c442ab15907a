// Which SIMD levels the kernels are compiled for. Included before any header of Highway; no #pragma once, since it only
// defines.
//
// On x86: AVX3 (AVX-512), AVX2 with FMA, SSSE3 and the plain baseline, which Highway runs lane by lane. SSE4 would give
// SSSE3's code again. Elsewhere NEON. Levels whose vectors have no size at compile time cannot be kept in the arrays
// these kernels use.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
