#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "libpsgd/base/progress.hpp"
#include "libpsgd/dump/reader.hpp"

namespace psgd::tools::inspect {

/// What the recorded gradients of one parameter are like, a record being one step of one process rank.
struct GradientStatistics {
  double norm_min = std::numeric_limits<double>::infinity();  ///< over the records that are finite
  double norm_max = 0;
  double norm_sum = 0;
  std::int64_t finite_records = 0;
  std::int64_t zero_records = 0;    ///< every value is zero
  std::int64_t unused_records = 0;  ///< zero because the parameter was not used in that step
  std::int64_t non_finite_values = 0;
  std::optional<std::int64_t> first_non_finite_step;  ///< recorded number
  std::optional<std::int64_t> first_non_finite_process_rank;
};

struct Survey {
  bool complete = true;                        ///< false: stopped before all was read
  std::vector<GradientStatistics> parameters;  ///< as in the description
};

/// Reads every gradient once, one process rank after the other, so that memory holds two gradients of one process rank
/// at most.
Survey survey_gradients(dump::Reader& reader, std::size_t threads, Progress& progress,
                        const std::function<bool()>& stop_requested);

}  // namespace psgd::tools::inspect
