#pragma once

#include <cstdint>
#include <span>

#include "libpsgd/model/all_reduce.hpp"

namespace psgd::model {

/// One all-reduce that was timed.
struct TimedAllReduce {
  double bytes = 0;
  double seconds = 0;
};

struct NetworkFit {
  Network network;
  double largest_relative_error = 0;  ///< |model − measured|/measured, over the measurements
};

/// The α and β that explain all-reduces timed on `process_ranks` members best, in the least squares of relative errors;
/// neither is negative. Throws Error::input when there are fewer than two sizes, a size or time is not positive, there
/// are fewer than two process ranks, or the times do not grow with the size.
NetworkFit fit_network(Algorithm algorithm, std::int64_t process_ranks, std::span<const TimedAllReduce> measurements);

}  // namespace psgd::model
