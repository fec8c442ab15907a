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
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {none, none, none};
  for (double& value : values) {
    if (!std::isfinite(value)) value = std::numeric_limits<double>::infinity();
  }
  const auto existing = [](double value) { return std::isfinite(value) ? value : none; };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const double max = *std::max_element(values.begin(), values.end());
  return {existing(sum / static_cast<double>(values.size())), existing(median(std::move(values))), existing(max)};
}

void ErrorSummary::add_step(std::span<const ParameterRecord> records) {
  series_.parameters.resize(records.size());
  metrics::Measurement whole;
  metrics::Measurement sound;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ParameterRecord& record = records[i];
    add_record(series_.parameters[i], record);
    if (record.compressed && metrics::is_comparable(record.measurement)) {
      series_.of_records.push_back(metrics::relative_error(record.measurement));
    }
    if (!std::isfinite(record.measurement.sums.gradient_sq)) continue;
    whole.sums.gradient_sq += record.measurement.sums.gradient_sq;
    whole.sums.difference_sq += record.measurement.sums.difference_sq;
    // Error feedback keeps a NaN, so that a parameter stays out once its gradient held one.
    if (series_.parameters[i].summary.non_finite_gradients > 0) continue;
    sound.sums.gradient_sq += record.measurement.sums.gradient_sq;
    sound.sums.difference_sq += record.measurement.sums.difference_sq;
  }
  if (metrics::is_comparable(whole)) series_.of_steps.push_back(metrics::relative_error(whole));
  if (metrics::is_comparable(sound)) series_.of_sound_parts.push_back(metrics::relative_error(sound));
}

void ErrorSummary::add_record(Sums& sums, const ParameterRecord& record) {
  ParameterSummary& summary = sums.summary;
  summary.numel_before = record.measurement.numel_before;
  summary.mean_gradient_sq_all_steps += record.measurement.sums.gradient_sq;
  ++sums.steps;
  if (!std::isfinite(record.measurement.sums.gradient_sq)) ++summary.non_finite_gradients;
  if (!record.residual_norms.empty()) {
    summary.last_residual_norms = record.residual_norms;
    summary.first_residual_norms.resize(record.residual_norms.size());
    for (std::size_t rank = 0; rank < record.residual_norms.size(); ++rank) {
      if (summary.first_residual_norms[rank] == 0) summary.first_residual_norms[rank] = record.residual_norms[rank];
    }
  }
  if (!record.compressed) {
    if (summary.compressed_steps == 0) summary.numel_after = record.measurement.numel_after;
    return;
  }
  summary.numel_after = record.measurement.numel_after;
  summary.rank = record.rank;
  ++summary.compressed_steps;
  summary.mean_bytes_sent += record.bytes_sent;
  summary.mean_difference_sq += record.measurement.sums.difference_sq;
  summary.mean_gradient_sq += record.measurement.sums.gradient_sq;
  if (!metrics::is_comparable(record.measurement)) return;
  sums.relative_error += metrics::relative_error(record.measurement);
  ++sums.relative_errors;
}

std::vector<ParameterSummary> ErrorSummary::parameters() const {
  std::vector<ParameterSummary> summaries;
  for (const Sums& sums : series_.parameters) {
    ParameterSummary summary = sums.summary;
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, summary.compressed_steps));
    summary.mean_difference_sq /= steps;
    summary.mean_bytes_sent /= steps;
    summary.mean_gradient_sq /= steps;
    summary.mean_gradient_sq_all_steps /= static_cast<double>(std::max<std::int64_t>(1, sums.steps));
    summary.mean_relative_error = sums.relative_errors > 0
                                      ? sums.relative_error / static_cast<double>(sums.relative_errors)
                                      : std::numeric_limits<double>::quiet_NaN();
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace psgd::replay
