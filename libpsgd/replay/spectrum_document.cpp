#include "libpsgd/replay/spectrum_document.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace psgd::replay {
namespace {

using report::Cell;
using report::Column;
using report::Json;

/// NaN stands for a number that does not exist.
Cell number(double value) { return report::cell_if(!std::isnan(value), value); }

std::string subject(const SweepResult& sweep, const SpectrumRow& row) {
  if (!row.configuration) return "gradient";
  const std::string& label = sweep.configurations[*row.configuration].label;
  return label.empty() ? "target" : label;
}

void add_bounded(std::vector<Column>& columns, const std::string& name) {
  for (const char* end : {"", "_lower", "_upper"}) columns.push_back({name + end});
}

std::vector<Column> columns_of(const SpectrumAnalysis& analysis) {
  std::vector<Column> columns{
      {"step"}, report::text_column("parameter"), {"rows"}, {"cols"}, report::text_column("of"), {"finite"}, {"exact"},
      {"norm"}};
  for (std::int64_t i = 1; i <= analysis.spec.values; ++i) columns.push_back({fmt::format("sigma_{}", i)});
  columns.push_back({"tail_norm"});
  columns.push_back({"rest_bound"});
  add_bounded(columns, "stable_rank");
  add_bounded(columns, "effective_rank");
  for (const std::int64_t rank : analysis.ranks) add_bounded(columns, fmt::format("optimal_error_r{}", rank));
  for (const char* name : {"drift_dimension", "drift", "rank_spread", "rank", "relative_error"})
    columns.push_back({name});
  add_bounded(columns, "gap");
  columns.push_back({"residual_norm"});
  columns.push_back({"residual_growth"});
  return columns;
}

/// Puts cells into a row one after the other.
class Filler {
 public:
  explicit Filler(report::Row& row) : row_(row) {}
  void put(Cell cell) { row_[at_++] = std::move(cell); }
  void put(const metrics::Bounded& value) {
    for (const double part : {value.value, value.lower, value.upper}) put(number(part));
  }
  void skip(std::size_t cells) { at_ += cells; }

 private:
  report::Row& row_;
  std::size_t at_ = 0;
};

void fill(const SweepResult& sweep, std::size_t index, report::Row& cells) {
  const SpectrumAnalysis& analysis = *sweep.spectrum;
  const SpectrumRow& row = analysis.rows[index];
  const ReplayedParameter& parameter = sweep.parameters[row.parameter];
  Filler filler(cells);
  filler.put(row.step);
  filler.put(parameter.name);
  filler.put(parameter.rows);
  filler.put(parameter.cols);
  filler.put(subject(sweep, row));
  filler.put(row.finite);
  if (!row.finite) return;
  filler.put(row.exact);
  filler.put(number(row.norm));
  for (const double value : row.values) filler.put(value);
  filler.skip(static_cast<std::size_t>(analysis.spec.values) - row.values.size());
  filler.put(number(row.tail));
  filler.put(number(row.rest));
  filler.put(row.stable_rank);
  filler.put(row.effective_rank);
  for (const metrics::Bounded& error : row.optimal_errors) filler.put(error);
  filler.put(report::cell_if(row.drift_dimension > 0, row.drift_dimension));
  filler.put(number(row.drift));
  filler.put(number(row.rank_spread));
  filler.put(report::cell_if(row.rank > 0, row.rank));
  filler.put(number(row.relative_error));
  filler.put(row.gap);
  filler.put(number(row.residual_norm));
  filler.put(number(row.residual_growth));
}

Json definitions() {
  return {
      {"gradient", "the mean of this step's gradients over process ranks"},
      {"target", "what a configuration compresses: the mean over process ranks of gradient plus error memory"},
      {"sigma", "singular values, descending; all others together are tail_norm, the root of the sum of their squares"},
      {"rest_bound", "0 where LAPACK computed all; else sigma_i^2 <= true value^2 <= sigma_i^2 + rest_bound^2"},
      {"stable_rank", "squared Frobenius norm over squared spectral norm"},
      {"effective_rank", "exp(-sum p ln p), p = sigma / sum sigma (Roy, Vetterli 2007)"},
      {"optimal_error", "least relative error of any matrix of that rank (Eckart, Young)"},
      {"gap", "relative error of the compressed target over the least possible at its rank"},
      {"drift",
       "1 - mean squared cosine of principal angles between leading right singular subspaces of the mean gradient "
       "at this analysed step and the one before"},
      {"rank_spread", "root mean square over process ranks of the distance from the mean gradient, over its norm"},
      {"residual_growth", "norm of the mean error memory over that at the first analysed step that left one"}};
}

}  // namespace

Json spectrum_json(const SweepResult& sweep) {
  const SpectrumAnalysis& analysis = *sweep.spectrum;
  Json parameters = Json::array();
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    const bool finite = std::none_of(analysis.rows.begin(), analysis.rows.end(),
                                     [&](const SpectrumRow& row) { return row.parameter == i && !row.finite; });
    const StartSuggestion& suggestion = sweep.starts[i];
    parameters.push_back({{"parameter", sweep.parameters[i].name},
                          {"finite", finite},
                          {"start_powerSGD_iter", suggestion.step ? Json(*suggestion.step) : Json(nullptr)},
                          {"start_rank", suggestion.rank > 0 ? Json(suggestion.rank) : Json(nullptr)}});
  }
  const OverallStart start = overall_start(sweep.starts);
  return {{"every", analysis.spec.every},
          {"exact_limit", analysis.spec.exact_limit},
          {"steps", analysis.steps},
          {"ranks", analysis.ranks},
          {"start_powerSGD_iter", start.step ? Json(*start.step) : Json(nullptr)},
          {"settled", start.settled},
          {"unsettled", start.unsettled},
          {"definitions", definitions()},
          {"parameters", std::move(parameters)}};
}

report::Table spectrum_table(const SweepResult& sweep) {
  return {columns_of(*sweep.spectrum), sweep.spectrum->rows.size(),
          [&sweep](std::size_t index, report::Row& row) { fill(sweep, index, row); }};
}

}  // namespace psgd::replay
