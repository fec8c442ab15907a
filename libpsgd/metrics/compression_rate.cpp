#include "libpsgd/metrics/compression_rate.hpp"

#include <cmath>
#include <limits>

namespace psgd::metrics {

double compression_rate(const Measurement& measurement) {
  if (measurement.numel_after <= 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(measurement.numel_before) / static_cast<double>(measurement.numel_after);
}

}  // namespace psgd::metrics
