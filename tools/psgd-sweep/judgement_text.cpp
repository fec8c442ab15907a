#include "tools/psgd-sweep/judgement_text.hpp"

#include <cmath>

#include <fmt/format.h>

#include "libpsgd/report/text.hpp"

namespace psgd::tools::sweep {
namespace {

using psgd::replay::Advice;
using psgd::replay::JudgedConfiguration;
using psgd::replay::JudgedLayer;
using psgd::replay::SweepResult;
using report::Align;
using report::Cell;
using report::NumberStyle;

/// Gigabytes a second; "any" where compression costs no time.
Cell bandwidth_cell(const std::optional<double>& bandwidth) {
  if (!bandwidth) return {};
  return std::isinf(*bandwidth) ? Cell{std::string("any")} : Cell{*bandwidth * 1e-9};
}

}  // namespace

std::string ranks_text(const std::optional<model::ProcessRankRange>& range) {
  if (!range) return "";
  return range->last ? fmt::format("{}-{}", range->first, *range->last) : fmt::format("{}+", range->first);
}

void write_layers(const SweepResult& sweep, const Advice& advice, const report::Sink& sink) {
  const JudgedConfiguration& judged = advice.configurations[advice.recommended.value_or(0)];
  const auto& parameters = sweep.configurations[judged.index].parameters;
  // What goes element by element stops paying at the same bandwidth everywhere.
  if (judged.layers.empty() || parameters[judged.layers.front().parameter].rank == 0) return;
  const std::string& label = sweep.configurations[judged.index].label;
  sink(fmt::format(
      "\nWhere each layer{} stops paying: links faster than this, among {} process ranks, make compressing it "
      "a loss (without overlap and latency).\n",
      label.empty() ? "" : " of " + label, advice.cluster.process_ranks));
  report::Table table({report::text_column("parameter"),
                       {"bytes", Align::right, NumberStyle::general, 4, "sent", "kB"},
                       {"dense", Align::right, NumberStyle::general, 4, "uncompressed", "kB"},
                       {"compress", Align::right, NumberStyle::general, 3, "compressing", "ms"},
                       {"bandwidth", Align::right, NumberStyle::general, 3, "pays below", "GB/s"},
                       {"ranks", Align::right, NumberStyle::general, 3, "with process ranks"}});
  for (const JudgedLayer& layer : judged.layers) {
    const std::string ranks = ranks_text(layer.break_even_process_ranks);
    table.add({sweep.parameters[layer.parameter].name, layer.bytes / 1e3, layer.dense_bytes / 1e3,
               layer.compress_seconds * 1e3, bandwidth_cell(layer.break_even_bandwidth),
               report::cell_if(!ranks.empty(), ranks)});
  }
  report::write_text(table, sink);
}

void write_plan(const SweepResult& sweep, const Advice& advice, const report::Sink& sink) {
  if (!advice.plan) return;
  const std::string seconds =
      advice.plan->seconds ? fmt::format(", {:.3g} ms to send and compress", *advice.plan->seconds * 1e3) : "";
  sink(fmt::format(
      "\nRanks layer by layer: {:.4g} kB a step at a whole-model error of {:.4g}{}{}\n", advice.plan->bytes / 1e3,
      advice.plan->relative_error, seconds,
      advice.plan->meets_budget ? "" : " (nobody can meet the budget with the ranks tried: this is the nearest)"));
  report::Table table({report::text_column("parameter"),
                       {"rank"},
                       {"kB"},
                       {"uncompressed kB"},
                       {"error", Align::right, NumberStyle::fixed, 4}});
  for (const auto& layer : advice.plan->layers) {
    if (!layer.worth_compressing) continue;
    table.add({sweep.parameters[layer.parameter].name, report::cell_if(layer.rank > 0, layer.rank), layer.bytes / 1e3,
               layer.dense_bytes / 1e3, layer.relative_error});
  }
  report::write_text(table, sink);
  sink("Parameters not shown are not worth compressing at any rank tried; - means: send it uncompressed.\n");
}

}  // namespace psgd::tools::sweep
