#pragma once

#include <cstdint>
#include <vector>

#include "libpsgd/replay/result.hpp"

namespace psgd::tools::replay {

/// One parameter over all replayed steps. Means are over compressed steps and finite values; NaN where there are none.
struct ParameterSummary {
  std::int64_t compressed_steps = 0;
  double mean_relative_error = 0;
  double mean_target_error = 0;  ///< what a step lost of gradient plus error memory
  double mean_cosine = 0;
  double residual_norm = 0;    ///< last, root mean square over process ranks
  double residual_growth = 0;  ///< the same over the first that is not zero
};

/// As ReplayResult::parameters.
std::vector<ParameterSummary> summarize_parameters(const psgd::replay::ReplayResult& result);

}  // namespace psgd::tools::replay
