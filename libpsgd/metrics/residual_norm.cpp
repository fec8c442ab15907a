#include "libpsgd/metrics/residual_norm.hpp"

#include <cmath>
#include <limits>

namespace psgd::metrics {

double residual_norm(double mean_error_sq, double error_dot_deviation, double deviation_sq) {
  const double sum = mean_error_sq + 2 * error_dot_deviation + deviation_sq;
  return sum < 0 ? 0 : std::sqrt(sum);
}

double residual_growth(double first, double last) {
  return first > 0 ? last / first : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace psgd::metrics
