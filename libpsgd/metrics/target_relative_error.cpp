#include "libpsgd/metrics/target_relative_error.hpp"

#include <cmath>
#include <limits>

namespace psgd::metrics {

double target_relative_error(const Measurement& measurement) {
  if (measurement.target_sq == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(measurement.residual_sq / measurement.target_sq);
}

}  // namespace psgd::metrics
