#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "libpsgd/metrics/spectrum.hpp"

/// What a sweep is asked about singular values, and what it found.
namespace psgd::replay {

struct SpectrumSpec {
  std::int64_t every = 0;          ///< analyse each N-th replayed step, the first included; 0: none
  std::int64_t values = 8;         ///< leading singular values that are reported
  std::int64_t exact_limit = 512;  ///< matrices whose smaller side is at most this are decomposed by LAPACK
  bool suggest_start = false;      ///< too few analysed steps to suggest start_powerSGD_iter from are an error
};

/// The singular values of one parameter in one analysed step: of the mean gradient, or of what a configuration was to
/// compress, the mean over process ranks of gradient plus error memory.
struct SpectrumRow {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  std::int64_t step = 0;                     ///< recorded number
  std::size_t parameter = 0;                 ///< into SweepResult::parameters
  std::optional<std::size_t> configuration;  ///< into the sweep's configurations; none: the mean gradient
  bool finite = true;                        ///< false: an element is NaN or infinite, and nothing below exists
  bool exact = true;                         ///< by LAPACK; else randomized, and numbers have bounds
  double norm = none;                        ///< Frobenius
  std::vector<double> values;                ///< leading singular values, descending; at most SpectrumSpec::values
  double tail = none;                        ///< sqrt of the sum of squares of the others
  double rest = none;                        ///< σ_i² lies within values_i² and values_i² + rest²; 0 when exact
  metrics::Bounded stable_rank{none, none, none};
  metrics::Bounded effective_rank{none, none, none};
  std::vector<metrics::Bounded> optimal_errors;  ///< best relative error at each of SpectrumAnalysis::ranks

  // Of the mean gradient only.
  std::int64_t drift_dimension = 0;  ///< 0: there is no analysed step before
  double drift = none;               ///< of the leading right singular subspace since the analysed step before
  double rank_spread = none;         ///< of process ranks around their mean

  // Of a configuration only.
  std::int64_t rank = 0;                   ///< columns of the factors
  double relative_error = none;            ///< ‖M − M̂‖/‖M‖, M the mean compressed target
  metrics::Bounded gap{none, none, none};  ///< relative_error over the best possible at that rank
  double residual_norm = none;             ///< of the mean error memory after the step; NaN without error feedback
  double residual_growth = none;           ///< relative to the first analysed step that left one
};

struct SpectrumAnalysis {
  SpectrumSpec spec;
  std::vector<std::int64_t> ranks;  ///< matrix_approximation_rank of the grid, ascending
  std::vector<std::int64_t> steps;  ///< recorded numbers of the steps analysed
  std::vector<SpectrumRow> rows;    ///< step by step, parameters in the dump's order, the mean gradient first
};

/// From which recorded step on a parameter's best possible error stays within a quarter of its final level, at the
/// largest rank of the grid that does not make it zero: compression may start there.
struct StartSuggestion {
  std::optional<std::int64_t> step;  ///< none: too few finite values, or it never settles
  std::int64_t rank = 0;             ///< whose error was looked at; 0: every rank of the grid is lossless
};

/// A suggestion for each of `parameters` parameters. Needs 8 analysed steps for one that is not empty.
std::vector<StartSuggestion> suggest_starts(const SpectrumAnalysis& analysis, std::size_t parameters);

/// The suggestions taken together.
struct OverallStart {
  std::optional<std::int64_t> step;  ///< the latest of those that settle
  std::size_t settled = 0;           ///< parameters that do
  std::size_t unsettled = 0;         ///< those that do not, lossless ones left out
};
OverallStart overall_start(std::span<const StartSuggestion> starts);

/// Fewest analysed steps that suggest_starts works from.
inline constexpr std::size_t fewest_steps_for_start = 8;

}  // namespace psgd::replay
