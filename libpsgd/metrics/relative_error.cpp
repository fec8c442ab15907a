#include "libpsgd/metrics/relative_error.hpp"

#include <cmath>
#include <limits>

namespace psgd::metrics {

double relative_error(const Measurement& measurement) {
  if (measurement.sums.gradient_sq == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(measurement.sums.difference_sq / measurement.sums.gradient_sq);
}

bool is_comparable(const Measurement& measurement) {
  return std::isfinite(measurement.sums.gradient_sq) && measurement.sums.gradient_sq > 0;
}

}  // namespace psgd::metrics
