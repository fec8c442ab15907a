#include "libpsgd/replay/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "libpsgd/metrics/relative_error.hpp"

namespace psgd::replay {

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
  const double upper = values[half];
  if (values.size() % 2 == 1) return upper;
  const double lower = *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half));
  return lower + (upper - lower) / 2;
}

Spread spread(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {none, none, none};
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const double max = *std::max_element(values.begin(), values.end());
  return {sum / static_cast<double>(values.size()), median(std::move(values)), max};
}

void summarize_errors(ReplayResult& result) {
  std::vector<double> of_records;
  std::vector<double> of_steps;
  const std::size_t parameters = result.parameters.size();
  for (std::size_t first = 0; first + parameters <= result.records.size() && parameters > 0; first += parameters) {
    metrics::Measurement whole;
    for (std::size_t i = first; i < first + parameters; ++i) {
      const ParameterRecord& record = result.records[i];
      if (record.compressed) of_records.push_back(metrics::relative_error(record.measurement));
      whole.sums.gradient_sq += record.measurement.sums.gradient_sq;
      whole.sums.difference_sq += record.measurement.sums.difference_sq;
    }
    of_steps.push_back(metrics::relative_error(whole));
  }
  result.summary.relative_error = spread(std::move(of_records));
  result.summary.relative_error_whole_model = spread(std::move(of_steps));
}

}  // namespace psgd::replay
