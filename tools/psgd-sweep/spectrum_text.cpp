#include "tools/psgd-sweep/spectrum_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "libpsgd/report/quantity.hpp"
#include "libpsgd/report/text.hpp"

namespace psgd::tools::sweep {
namespace {

using psgd::replay::SpectrumAnalysis;
using psgd::replay::SpectrumRow;
using psgd::replay::SweepResult;
using report::Align;
using report::Cell;
using report::Column;
using report::NumberStyle;

using Rows = std::vector<const SpectrumRow*>;
using Number = std::function<double(const SpectrumRow&)>;

/// Rows about one subject: a parameter, or all; the mean gradient, or a configuration.
Rows rows_of(const SpectrumAnalysis& analysis, std::optional<std::size_t> parameter,
             std::optional<std::size_t> configuration) {
  Rows rows;
  for (const SpectrumRow& row : analysis.rows) {
    if (row.finite && (!parameter || row.parameter == *parameter) && row.configuration == configuration)
      rows.push_back(&row);
  }
  return rows;
}

/// Mean of the finite values; no value when there is none.
Cell mean(const Rows& rows, const Number& number) {
  double sum = 0;
  std::int64_t count = 0;
  for (const SpectrumRow* row : rows) {
    const double value = number(*row);
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return report::cell_if(count > 0, sum / static_cast<double>(std::max<std::int64_t>(count, 1)));
}

Column fixed(std::string name, int digits) { return {std::move(name), Align::right, NumberStyle::fixed, digits}; }

/// What is known of the gradients, whatever the configuration.
report::Table gradients(const SweepResult& sweep) {
  const SpectrumAnalysis& analysis = *sweep.spectrum;
  std::vector<Column> columns{
      report::text_column("parameter"), {"rows"},          {"cols"},          fixed("stable rank", 2),
      fixed("effective rank", 2),       fixed("drift", 3), fixed("spread", 3)};
  for (const std::int64_t rank : analysis.ranks) columns.push_back(fixed(fmt::format("best r={}", rank), 4));
  columns.push_back({"start"});
  report::Table table(std::move(columns));
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    const psgd::replay::ReplayedParameter& parameter = sweep.parameters[i];
    if (std::min(parameter.rows, parameter.cols) < 2) continue;
    const Rows rows = rows_of(analysis, i, std::nullopt);
    report::Row cells{parameter.name, parameter.rows, parameter.cols};
    cells.push_back(mean(rows, [](const SpectrumRow& row) { return row.stable_rank.value; }));
    cells.push_back(mean(rows, [](const SpectrumRow& row) { return row.effective_rank.value; }));
    cells.push_back(mean(rows, [](const SpectrumRow& row) { return row.drift; }));
    cells.push_back(mean(rows, [](const SpectrumRow& row) { return row.rank_spread; }));
    for (std::size_t r = 0; r < analysis.ranks.size(); ++r)
      cells.push_back(mean(rows, [r](const SpectrumRow& row) { return row.optimal_errors[r].value; }));
    cells.push_back(report::cell_of(sweep.starts[i].step));
    table.add(std::move(cells));
  }
  return table;
}

/// How near each configuration comes to the best possible.
report::Table configurations(const SweepResult& sweep) {
  report::Table table({report::text_column("configuration"), fixed("lost in a step", 4), fixed("best possible", 4),
                       fixed("gap", 3), fixed("worst gap", 3), report::text_column("of parameter"),
                       fixed("residual growth", 2)});
  for (std::size_t i = 0; i < sweep.configurations.size(); ++i) {
    const Rows rows = rows_of(*sweep.spectrum, std::nullopt, i);
    if (rows.empty()) continue;
    const auto best = [](const SpectrumRow& row) { return row.relative_error / row.gap.value; };
    const SpectrumRow* worst = nullptr;
    for (const SpectrumRow* row : rows) {
      if (std::isfinite(row->gap.value) && (worst == nullptr || row->gap.value > worst->gap.value)) worst = row;
    }
    const std::string& label = sweep.configurations[i].label;
    table.add({label.empty() ? std::string("as given") : label,
               mean(rows, [](const SpectrumRow& row) { return row.relative_error; }), mean(rows, best),
               mean(rows, [](const SpectrumRow& row) { return row.gap.value; }),
               report::cell_if(worst != nullptr, worst != nullptr ? worst->gap.value : 0),
               report::cell_if(worst != nullptr, worst != nullptr ? sweep.parameters[worst->parameter].name : ""),
               mean(rows, [](const SpectrumRow& row) { return row.residual_growth; })});
  }
  return table;
}

void write_not_finite(const SweepResult& sweep, const report::Sink& sink) {
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    const auto first =
        std::find_if(sweep.spectrum->rows.begin(), sweep.spectrum->rows.end(),
                     [i](const SpectrumRow& row) { return row.parameter == i && !row.configuration && !row.finite; });
    if (first == sweep.spectrum->rows.end()) continue;
    sink(fmt::format("{} holds NaN or infinity, first in step {}: it has no singular values there.\n",
                     sweep.parameters[i].name, first->step));
  }
}

void write_start(const SweepResult& sweep, const report::Sink& sink) {
  const psgd::replay::OverallStart start = psgd::replay::overall_start(sweep.starts);
  if (sweep.spectrum->steps.size() < psgd::replay::fewest_steps_for_start) {
    sink(fmt::format("A start is suggested from {} analysed steps on.\n", psgd::replay::fewest_steps_for_start));
  } else if (start.step) {
    sink(fmt::format(
        "Compression may start at step {}: start_powerSGD_iter={} in the job. {} of {} parameters have settled "
        "by then; the others scatter to the end.\n",
        *start.step, *start.step, start.settled, start.settled + start.unsettled));
  } else {
    sink("No parameter's best error has settled in these steps: record later ones, or more.\n");
  }
}

}  // namespace

void write_spectrum_text(const SweepResult& sweep, const report::Sink& sink) {
  if (!sweep.spectrum) return;
  const SpectrumAnalysis& analysis = *sweep.spectrum;
  sink(fmt::format(
      "\nSingular values of the mean gradients, means over {} analysed. best r=N: least relative error of any matrix "
      "of "
      "rank N. drift: how much the leading directions\nturn between analysed steps, 0 to 1. spread: of process ranks "
      "around the mean. start: recorded step from which the best error has settled.\n",
      report::plural(static_cast<std::int64_t>(analysis.steps.size()), "step")));
  report::write_text(gradients(sweep), sink);
  write_not_finite(sweep, sink);
  write_start(sweep, sink);
  const report::Table judged = configurations(sweep);
  if (judged.rows() == 0) return;
  sink(
      "\nAgainst the best possible at the same rank, of gradient plus error memory; gap: lost over best, 1 is "
      "perfect.\n");
  report::write_text(judged, sink);
}

}  // namespace psgd::tools::sweep
