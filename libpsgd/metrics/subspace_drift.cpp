#include "libpsgd/metrics/subspace_drift.hpp"

#include <algorithm>
#include <limits>

#include "libpsgd/base/error.hpp"
#include "libpsgd/metrics/spectrum_exact.hpp"

namespace psgd::metrics {

SubspaceDrift subspace_drift(std::span<const double> first, std::span<const double> second, std::int64_t size) {
  const auto length = static_cast<std::size_t>(size);
  if (length > 0 && (first.size() % length != 0 || second.size() % length != 0)) {
    throw Error::internal("subspace_drift: {} and {} numbers are not whole vectors of {}", first.size(), second.size(),
                          size);
  }
  const std::size_t count = length == 0 ? 0 : std::min(first.size(), second.size()) / length;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (count == 0) return {0, none, none};
  Columns cosines(count, count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      double dot = 0;
      for (std::size_t k = 0; k < length; ++k) dot += first[i * length + k] * second[j * length + k];
      cosines.column(i)[j] = dot;
      sum += dot * dot;
    }
  }
  const Decomposition decomposition = decompose(cosines, false);
  return {static_cast<std::int64_t>(count), std::clamp(1 - sum / static_cast<double>(count), 0.0, 1.0),
          std::min(decomposition.values.back(), 1.0)};
}

}  // namespace psgd::metrics
