#include "libpsgd/backend/cpu/kernels/kernels.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <type_traits>

#include <fmt/ranges.h>

#include "libpsgd/backend/cpu/kernels/targets.hpp"

#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/base/error.hpp"

namespace psgd::backend::kernels {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The bit that stands for a level in Highway. Throws Error::usage when this processor or build does not have it.
std::int64_t target_of(std::string_view level) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  if (level.empty()) return targets.front();
  for (const std::int64_t target : targets) {
    if (lower(hwy::TargetName(target)) == level) return target;
  }
  throw Error::usage("SIMD level \"{}\" is not available (available here: {})", level, fmt::join(simd_levels(), ", "));
}

}  // namespace

std::vector<std::string> simd_levels() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.push_back(lower(hwy::TargetName(target)));
  return names;
}

std::string simd_level_from_environment() {
  const char* level = std::getenv("PSGD_SIMD");
  return lower(level == nullptr ? "" : level);
}

template <class T>
Kernels<T> kernels(std::string_view level) {
  static std::mutex mutex;  // Highway's chosen target is one for the process
  const std::lock_guard lock(mutex);
  const std::int64_t target = target_of(level);
  hwy::GetChosenTarget().Update(target);
  Kernels<float> single;
  Kernels<double> twofold;
  for (const auto add : {add_elementwise, add_packing, add_project, add_back_project, add_residual, add_rank_reduction,
                         add_tall_columns, add_tall_triangles}) {
    add(single, twofold);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  if constexpr (std::is_same_v<T, float>) {
    return single;
  } else {
    return twofold;
  }
}

template Kernels<float> kernels(std::string_view);
template Kernels<double> kernels(std::string_view);

}  // namespace psgd::backend::kernels
