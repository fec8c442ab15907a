#include "libpsgd/metrics/norms.hpp"

#include <cmath>
#include <limits>

namespace psgd::metrics {

double gradient_norm(const Measurement& measurement) { return std::sqrt(measurement.sums.gradient_sq); }

double averaged_norm(const Measurement& measurement) { return std::sqrt(measurement.sums.averaged_sq); }

}  // namespace psgd::metrics
