#include "libpsgd/metrics/settling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace psgd::metrics {

std::optional<std::size_t> settled_from(std::span<const double> series, double tolerance) {
  constexpr std::size_t fewest = 8;
  std::vector<std::size_t> finite;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (std::isfinite(series[i])) finite.push_back(i);
  }
  if (finite.size() < fewest) return std::nullopt;
  std::vector<double> last;
  for (std::size_t i = finite.size() / 2; i < finite.size(); ++i) last.push_back(series[finite[i]]);
  const auto middle = last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2);
  std::nth_element(last.begin(), middle, last.end());
  const double level = *middle;
  const double allowed = tolerance * std::abs(level);
  std::size_t settled = finite.size();
  while (settled > 0 && std::abs(series[finite[settled - 1]] - level) <= allowed) --settled;
  if (4 * (finite.size() - settled) < finite.size()) return std::nullopt;
  return finite[settled];
}

}  // namespace psgd::metrics
