#include "tools/psgd-ortho/ortho_text.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "libpsgd/replay/document.hpp"
#include "libpsgd/report/quantity.hpp"
#include "libpsgd/report/text.hpp"
#include "tools/psgd-ortho/shapes.hpp"

namespace psgd::tools::ortho {
namespace {

using psgd::replay::Crossover;
using psgd::replay::OrthoAdvice;
using psgd::replay::OrthoRecord;
using psgd::replay::OrthoResult;
using report::Align;
using report::NumberStyle;

/// A method on one shape in one type: the record that its time comes from, and the worst of every input.
struct Line {
  const OrthoRecord* timed = nullptr;
  std::vector<const OrthoRecord*> worst;  ///< by input; null where it was not tried
};

bool same_line(const OrthoRecord& a, const OrthoRecord& b) {
  return a.method == b.method && a.dtype == b.dtype && a.shape.rows == b.shape.rows && a.shape.cols == b.shape.cols;
}

std::vector<std::string> inputs_of(const OrthoResult& result) {
  std::vector<std::string> inputs;
  for (const OrthoRecord& record : result.records) {
    if (std::find(inputs.begin(), inputs.end(), record.input) == inputs.end()) inputs.push_back(record.input);
  }
  return inputs;
}

std::vector<Line> lines_of(const OrthoResult& result, const std::vector<std::string>& inputs) {
  std::vector<Line> lines;
  for (const OrthoRecord& record : result.records) {
    auto line =
        std::find_if(lines.begin(), lines.end(), [&](const Line& one) { return same_line(*one.timed, record); });
    if (line == lines.end()) {
      lines.push_back({&record, std::vector<const OrthoRecord*>(inputs.size())});
      line = lines.end() - 1;
    }
    const auto input = static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), record.input) - inputs.begin());
    const OrthoRecord*& worst = line->worst[input];
    if (worst == nullptr || std::isnan(record.orthogonality) || record.orthogonality > worst->orthogonality) {
      worst = &record;
    }
  }
  return lines;
}

report::Cell orthogonality_cell(const OrthoRecord* record) {
  if (record == nullptr) return {};
  if (!std::isfinite(record->orthogonality)) return std::string("not finite");
  return record->orthogonality;
}

void write_lines(const OrthoResult& result, const report::Sink& sink) {
  const std::vector<std::string> inputs = inputs_of(result);
  std::vector<report::Column> columns{report::text_column("shape"),
                                      report::text_column("dtype"),
                                      report::text_column("method"),
                                      {"time", Align::right, NumberStyle::general, 3, "time", "ms"},
                                      {"spread", Align::right, NumberStyle::general, 2, "spread", "ms"},
                                      {"rate", Align::right, NumberStyle::general, 3, "GB/s"}};
  for (const std::string& input : inputs) columns.push_back({input, Align::right, NumberStyle::scientific, 1});
  report::Table table(columns);
  for (const Line& line : lines_of(result, inputs)) {
    const OrthoRecord& timed = *line.timed;
    report::Row row{shape_text(timed.shape), std::string(to_string(timed.dtype)), timed.method,
                    timed.seconds * 1e3,     timed.seconds_spread * 1e3,          timed.bytes_per_second / 1e9};
    for (const OrthoRecord* record : line.worst) row.push_back(orthogonality_cell(record));
    table.add(std::move(row));
  }
  sink(
      fmt::format("Time of a batch (median and interquartile range, on {} factors where there are), and ‖QᵀQ − I‖ on "
                  "every input\n",
                  inputs.front()));
  report::write_text(table, sink);
}

void write_crossovers(const OrthoAdvice& advice, const report::Sink& sink) {
  if (advice.crossovers.empty()) return;
  report::Table table({report::text_column("method"),
                       report::text_column("overtakes"),
                       {"rows"},
                       report::text_column("dtype"),
                       {"cols", Align::right, NumberStyle::general, 4, "from columns"}});
  for (const Crossover& crossover : advice.crossovers) {
    table.add({crossover.method, crossover.overtakes, crossover.rows, std::string(to_string(crossover.dtype)),
               report::cell_of(crossover.cols)});
  }
  sink("\nFrom how many columns on, of those tried, a method is faster (-: at none, or not at the most)\n");
  report::write_text(table, sink);
}

}  // namespace

void write_ortho_text(const OrthoResult& result, const OrthoAdvice& advice, const report::Sink& sink) {
  if (!result.complete) sink("Incomplete: interrupted; only what was finished is shown\n\n");
  write_lines(result, sink);
  write_crossovers(advice, sink);
  sink("\nAdvice\n");
  for (const std::string& reason : advice.reasons) sink(fmt::format("- {}\n", reason));
  if (!result.rank_costs.empty()) sink(fmt::format("\n{}\n", psgd::replay::open_loop_notice));
}

}  // namespace psgd::tools::ortho
