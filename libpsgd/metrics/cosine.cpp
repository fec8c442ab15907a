#include "libpsgd/metrics/cosine.hpp"

#include <cmath>
#include <limits>

namespace psgd::metrics {

double cosine(const Measurement& measurement) {
  const double norms = std::sqrt(measurement.sums.averaged_sq) * std::sqrt(measurement.sums.gradient_sq);
  return norms == 0 ? std::numeric_limits<double>::quiet_NaN() : measurement.sums.dot / norms;
}

}  // namespace psgd::metrics
