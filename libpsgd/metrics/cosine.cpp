#include "libpsgd/metrics/cosine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psgd::metrics {

double cosine(const Measurement& measurement) {
  const double norms = std::sqrt(measurement.sums.averaged_sq) * std::sqrt(measurement.sums.gradient_sq);
  if (norms == 0) return std::numeric_limits<double>::quiet_NaN();
  // Rounding may exceed 1; NaN passes through.
  return std::clamp(measurement.sums.dot / norms, -1.0, 1.0);
}

}  // namespace psgd::metrics
