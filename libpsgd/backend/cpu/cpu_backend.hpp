#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/base/thread_pool.hpp"

namespace psgd::backend {

/// The backend that computes in host memory, on the threads of `pool`, which has to outlive it.
///
/// `simd_level`: one of cpu_simd_levels(); empty for the one that the environment variable PSGD_SIMD names, or else the
/// best. Results depend on the level in the last bits, never on the number of threads. Throws Error::usage for a level
/// that there is not.
template <class T>
std::unique_ptr<Backend<T>> cpu(ThreadPool& pool, std::string_view simd_level = {});

/// The SIMD levels that this build has and this processor runs, best first: of "avx3" (AVX-512), "avx2", "ssse3" and
/// "scalar".
std::vector<std::string> cpu_simd_levels();

}  // namespace psgd::backend
