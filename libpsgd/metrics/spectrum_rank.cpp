#include "libpsgd/metrics/spectrum_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psgd::metrics {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

double entropy_term(double p) { return p > 0 ? -p * std::log(p) : 0; }

/// −Σ p ln p of `values` and `others` more of the size `other`.
double entropy(const std::vector<double>& values, double others = 0, double other = 0) {
  double sum = others * other;
  for (const double value : values) sum += value;
  double result = others * entropy_term(other / sum);
  for (const double value : values) result += entropy_term(value / sum);
  return result;
}

/// What `values` lack of the singular values, each at most `largest`, in units of ‖M‖_F: bounds for their sum.
struct Missing {
  double least = 0;
  double most = 0;
  double largest = 0;
  double total_known = 0;  // Σ values
};

Missing missing(const Spectrum& spectrum) {
  Missing result;
  const double norm = spectrum.norm;
  const double rest = (spectrum.rest + spectrum.rounding) / norm;
  const double first = singular_value(spectrum, 0).upper / norm;
  double increments = 0;
  for (const double value : spectrum.values) {
    const double relative = value / norm;
    result.total_known += relative;
    increments += std::hypot(relative, rest) - relative;
  }
  const auto known = static_cast<double>(spectrum.values.size());
  const double unknown = static_cast<double>(spectrum.side()) - known;
  const double lower = std::pow(spectrum.rest_norm_lower / norm, 2);
  const double upper = spectrum.rest_norm_upper / norm;
  const double last = spectrum.values.back() / norm;
  // A value that grows by e from v takes e·(2v + e) of the energy that is missing.
  if (last > 0) increments = std::min(increments, upper * upper / (2 * last));
  result.most = increments + std::min(std::sqrt(unknown) * upper, unknown * rest);
  result.least = std::min(result.most, std::max(lower / (2 * first), (lower - known * rest * rest) / rest));
  result.largest = rest;
  return result;
}

double mixture_upper(double known, double share, double side) {
  return (1 - share) * known + share * std::log(side) + entropy_term(share) + entropy_term(1 - share);
}

}  // namespace

Bounded stable_rank(const Spectrum& spectrum) {
  if (!(spectrum.norm > 0)) return {none, none, none};
  const Bounded first = singular_value(spectrum, 0);
  const auto rank = [&](double largest) { return std::pow(spectrum.norm / largest, 2); };
  return {rank(first.value), std::max(1.0, rank(first.upper)), rank(first.lower)};
}

Bounded effective_rank(const Spectrum& spectrum) {
  if (!(spectrum.norm > 0)) return {none, none, none};
  const double known = entropy(spectrum.values);
  if (spectrum.exact) {
    const double rank = std::exp(known);
    return {rank, rank, rank};
  }
  const Missing rest = missing(spectrum);
  const auto side = static_cast<double>(spectrum.side());
  const double least_share = rest.least / (rest.total_known + rest.least);
  const double most_share = rest.most / (rest.total_known + rest.most);

  const double rest_entropy = std::max(0.0, std::log(rest.least / rest.largest));
  double lower = std::numeric_limits<double>::infinity();
  for (const double share : {least_share, most_share})
    lower = std::min(lower, (1 - share) * known + share * rest_entropy);

  const double highest = std::clamp(side / (side + std::exp(known)), least_share, most_share);
  const double upper = std::min(std::log(side), mixture_upper(known, highest, side));

  const double unknown = side - static_cast<double>(spectrum.values.size());
  const double value = entropy(spectrum.values, unknown,
                               std::min(spectrum.rest_norm_upper / std::sqrt(unknown), spectrum.values.back()));
  constexpr double rounding = 1e-12;
  return {std::exp(std::clamp(value, lower, upper)), std::exp(lower - rounding), std::exp(upper + rounding)};
}

}  // namespace psgd::metrics
