#include "libpsgd/replay/spectrum_analysis.hpp"

#include "libpsgd/metrics/settling.hpp"

namespace psgd::replay {
namespace {

/// Errors of minibatch gradients scatter by about this much from step to step, in the recording under datasets/.
constexpr double tolerance = 0.25;

/// Rows of the mean gradient of one parameter, in the order of steps.
std::vector<const SpectrumRow*> gradient_rows(const SpectrumAnalysis& analysis, std::size_t parameter) {
  std::vector<const SpectrumRow*> rows;
  for (const SpectrumRow& row : analysis.rows) {
    if (row.parameter == parameter && !row.configuration) rows.push_back(&row);
  }
  return rows;
}

/// The last of the grid's ranks whose best error is not zero throughout; nothing when all are.
std::optional<std::size_t> telling_rank(const SpectrumAnalysis& analysis, const std::vector<const SpectrumRow*>& rows) {
  for (std::size_t i = analysis.ranks.size(); i-- > 0;) {
    for (const SpectrumRow* row : rows) {
      if (i < row->optimal_errors.size() && row->optimal_errors[i].value > 0) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<StartSuggestion> suggest_starts(const SpectrumAnalysis& analysis, std::size_t parameters) {
  std::vector<StartSuggestion> suggestions(parameters);
  for (std::size_t parameter = 0; parameter < parameters; ++parameter) {
    const std::vector<const SpectrumRow*> rows = gradient_rows(analysis, parameter);
    const std::optional<std::size_t> rank = telling_rank(analysis, rows);
    if (!rank) continue;
    suggestions[parameter].rank = analysis.ranks[*rank];
    std::vector<double> series;
    series.reserve(rows.size());
    for (const SpectrumRow* row : rows)
      series.push_back(*rank < row->optimal_errors.size() ? row->optimal_errors[*rank].value : SpectrumRow::none);
    const std::optional<std::size_t> from = metrics::settled_from(series, tolerance);
    if (from) suggestions[parameter].step = rows[*from]->step;
  }
  return suggestions;
}

OverallStart overall_start(std::span<const StartSuggestion> starts) {
  OverallStart overall;
  for (const StartSuggestion& start : starts) {
    if (start.rank == 0) continue;
    ++(start.step ? overall.settled : overall.unsettled);
    if (start.step && (!overall.step || *overall.step < *start.step)) overall.step = start.step;
  }
  return overall;
}

}  // namespace psgd::replay
