#include "libpsgd/metrics/optimal_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psgd::metrics {

Bounded optimal_relative_error(const Spectrum& spectrum, std::int64_t rank) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (!(spectrum.norm > 0)) return {none, none, none};
  rank = std::max<std::int64_t>(rank, 0);
  if (rank == 0) return {1, 1, 1};
  if (rank >= spectrum.side()) return {0, 0, 0};
  double known = 0;
  for (std::size_t i = spectrum.values.size(); i > static_cast<std::size_t>(rank); --i) {
    known += std::pow(spectrum.values[i - 1] / spectrum.norm, 2);
  }
  if (spectrum.exact) {
    const double error = std::sqrt(known);
    return {error, error, error};
  }
  const double rest = spectrum.rest / spectrum.norm;
  const double rest_lower = std::pow(spectrum.rest_norm_lower / spectrum.norm, 2);
  const double rest_upper = std::pow(spectrum.rest_norm_upper / spectrum.norm, 2);
  const double rounding = spectrum.rounding / spectrum.norm;
  const double lower = std::sqrt(known + std::max(0.0, rest_lower - static_cast<double>(rank) * rest * rest));
  const double upper = std::sqrt(known + rest_upper);
  const double value = std::sqrt(known + (rest_lower + rest_upper) / 2);
  return {std::min(value, 1.0), std::max(0.0, lower - rounding), std::min(upper + rounding, 1.0)};
}

Bounded optimality_gap(double measured_relative_error, const Bounded& optimal) {
  // The largest error that may be the best gives the smallest ratio.
  return {measured_relative_error / optimal.value, measured_relative_error / optimal.upper,
          measured_relative_error / optimal.lower};
}

}  // namespace psgd::metrics
