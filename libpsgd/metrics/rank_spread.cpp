#include "libpsgd/metrics/rank_spread.hpp"

#include <cmath>
#include <limits>

namespace psgd::metrics {

double rank_spread(double sum_of_gradient_sq, double mean_sq, std::int64_t process_ranks) {
  if (mean_sq == 0 || process_ranks <= 0) return std::numeric_limits<double>::quiet_NaN();
  const double variance = sum_of_gradient_sq / static_cast<double>(process_ranks) - mean_sq;
  return variance < 0 ? 0 : std::sqrt(variance / mean_sq);
}

}  // namespace psgd::metrics
