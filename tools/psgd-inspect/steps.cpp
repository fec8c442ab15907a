#include "tools/psgd-inspect/steps.hpp"

#include <cstddef>
#include <map>

#include <fmt/format.h>

namespace psgd::tools::inspect {

StepPattern step_pattern(std::span<const std::int64_t> steps) {
  StepPattern pattern;
  std::map<std::int64_t, std::size_t> frequency;
  for (std::size_t i = 1; i < steps.size(); ++i) ++frequency[steps[i] - steps[i - 1]];
  std::size_t most = 0;
  for (const auto& [difference, count] : frequency) {
    if (count <= most) continue;
    most = count;
    pattern.stride = difference;
  }
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] - steps[i - 1] > pattern.stride) pattern.gaps.push_back({steps[i - 1], steps[i]});
  }
  return pattern;
}

std::string describe_steps(std::span<const std::int64_t> steps, const StepPattern& pattern) {
  if (steps.empty()) return "none";
  std::string text = fmt::format("{}, from {} to {}", steps.size(), steps.front(), steps.back());
  if (pattern.stride != 1) text += fmt::format(", {} apart", pattern.stride);
  if (!pattern.gaps.empty()) {
    text += fmt::format(", {} {}", pattern.gaps.size(), pattern.gaps.size() == 1 ? "gap" : "gaps");
  }
  return text;
}

}  // namespace psgd::tools::inspect
