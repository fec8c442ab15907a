#include "libpsgd/metrics/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "libpsgd/base/error.hpp"
#include "libpsgd/metrics/spectrum_exact.hpp"
#include "libpsgd/metrics/spectrum_randomized.hpp"

namespace psgd::metrics {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

void check(const SpectrumOptions& options) {
  if (options.exact_limit < 0 || options.leading < 0 || options.oversampling < 0 || options.power_iterations < 0 ||
      options.directions < 0) {
    throw Error::usage(
        "spectrum: exact_limit, leading, oversampling, power_iterations and directions must not be negative");
  }
}

/// The largest magnitude; std::nullopt when an element is NaN or infinite.
template <class T>
std::optional<double> largest_magnitude(const T* matrix, std::int64_t count) {
  T largest{0};
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    finite = finite && std::isfinite(matrix[i]);
    largest = std::max(largest, std::abs(matrix[i]));
  }
  return finite ? std::optional<double>(largest) : std::nullopt;
}

/// Of values in descending order; the small ones first, so that they count.
double sum_of_squares(const std::vector<double>& values) {
  return std::accumulate(values.rbegin(), values.rend(), 0.0,
                         [](double sum, double value) { return sum + value * value; });
}

/// Directions belong to values that are not rounding noise.
void keep_directions(Spectrum& result, const Columns& vectors) {
  const double noise = epsilon * static_cast<double>(std::max(result.rows, result.cols)) * result.values.front();
  std::size_t count = 0;
  while (count < vectors.count && result.values[count] > noise) ++count;
  result.directions.assign(vectors.data.begin(),
                           vectors.data.begin() + static_cast<std::ptrdiff_t>(count * vectors.size));
}

template <class T>
void compute_exactly(const ScaledMatrix<T>& matrix, const SpectrumOptions& options, Spectrum& result) {
  Decomposition decomposition =
      decompose_exactly(matrix, static_cast<std::size_t>(std::min(options.directions, result.side())));
  result.values = std::move(decomposition.values);
  result.norm = std::sqrt(sum_of_squares(result.values));
  keep_directions(result, decomposition.vectors);
}

template <class T>
void compute_randomized(const ScaledMatrix<T>& matrix, std::size_t sketch, const SpectrumOptions& options,
                        Spectrum& result) {
  RandomizedSpectrum found = find_range(matrix, sketch, options);
  result.exact = false;
  result.values = std::move(found.values);
  result.norm = std::sqrt(found.norm_sq);
  result.rounding = 32 * epsilon * result.norm;
  // The difference of two sums cannot tell less than their own rounding; the rank of R can, where R is that small.
  const double difference_rounding = 64 * epsilon * found.norm_sq;
  const double difference = found.norm_sq - sum_of_squares(result.values);
  const auto rest_rank =
      static_cast<double>(std::min(result.rows - static_cast<std::int64_t>(result.values.size()), result.cols));
  const double spectral = found.rest + result.rounding;
  result.rest = std::min(spectral, std::sqrt(std::max(difference, 0.0) + difference_rounding));
  result.rest_norm_upper =
      std::min(std::sqrt(std::max(difference, 0.0) + difference_rounding), std::sqrt(rest_rank) * spectral);
  result.rest_norm_lower = std::min(std::sqrt(std::max(difference - difference_rounding, 0.0)), result.rest_norm_upper);
  result.failure_probability = found.failure_probability;
  keep_directions(result, found.directions);
}

/// Back from the scale in which it was computed.
void rescale(Spectrum& spectrum, double factor) {
  for (double& value : spectrum.values) value *= factor;
  for (double* value :
       {&spectrum.norm, &spectrum.rest, &spectrum.rest_norm_lower, &spectrum.rest_norm_upper, &spectrum.rounding}) {
    *value *= factor;
  }
}

}  // namespace

template <class T>
std::optional<Spectrum> spectrum(const T* matrix, std::int64_t rows, std::int64_t cols,
                                 const SpectrumOptions& options) {
  check(options);
  const std::optional<double> largest = largest_magnitude(matrix, rows * cols);
  if (!largest) return std::nullopt;
  Spectrum result;
  result.rows = rows;
  result.cols = cols;
  if (*largest == 0) {
    result.values.assign(static_cast<std::size_t>(result.side()), 0.0);
    return result;
  }
  const int exponent = std::max(std::ilogb(*largest), -1000);  // so that the power of two is finite
  const ScaledMatrix<T> scaled{matrix, rows, cols, std::ldexp(1.0, -exponent)};
  const std::int64_t sketch = std::max<std::int64_t>(1, options.leading + options.oversampling);
  if (result.side() <= options.exact_limit || sketch >= result.side()) {
    compute_exactly(scaled, options, result);
  } else {
    compute_randomized(scaled, static_cast<std::size_t>(sketch), options, result);
  }
  rescale(result, std::ldexp(1.0, exponent));
  return result;
}

Bounded singular_value(const Spectrum& spectrum, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (index >= spectrum.side()) return {0, 0, 0};
  if (at >= spectrum.values.size()) {
    const auto unknown = static_cast<double>(spectrum.side() - static_cast<std::int64_t>(spectrum.values.size()));
    return {std::min(spectrum.rest, spectrum.rest_norm_upper / std::sqrt(unknown)), 0, spectrum.rest};
  }
  const double value = spectrum.values[at];
  if (spectrum.exact) return {value, value, value};
  return {value, std::max(0.0, value - spectrum.rounding), std::hypot(value, spectrum.rest) + spectrum.rounding};
}

template std::optional<Spectrum> spectrum(const float*, std::int64_t, std::int64_t, const SpectrumOptions&);
template std::optional<Spectrum> spectrum(const double*, std::int64_t, std::int64_t, const SpectrumOptions&);

}  // namespace psgd::metrics
