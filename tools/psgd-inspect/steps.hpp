#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace psgd::tools::inspect {

/// Two recorded steps that follow each other further apart than most do.
struct StepGap {
  std::int64_t after = 0;
  std::int64_t before = 0;
};

/// How the recorded step numbers follow each other.
struct StepPattern {
  std::int64_t stride = 1;  ///< the most frequent difference, the smaller of two equally frequent; 1 below two steps
  std::vector<StepGap> gaps;
};

/// `steps` ascending.
StepPattern step_pattern(std::span<const std::int64_t> steps);

/// "8 steps, 0 to 7", "5 steps, 0 to 40, every 10th", with the number of gaps.
std::string describe_steps(std::span<const std::int64_t> steps, const StepPattern& pattern);

}  // namespace psgd::tools::inspect
