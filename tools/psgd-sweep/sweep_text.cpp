#include "tools/psgd-sweep/sweep_text.hpp"

#include <cmath>

#include <fmt/format.h>

#include "libpsgd/replay/document.hpp"
#include "libpsgd/report/quantity.hpp"
#include "libpsgd/report/text.hpp"
#include "tools/psgd-sweep/judgement_text.hpp"
#include "tools/psgd-sweep/spectrum_text.hpp"

namespace psgd::tools::sweep {
namespace {

using psgd::replay::Advice;
using psgd::replay::SweepResult;
using report::Align;
using report::Cell;
using report::Column;
using report::NumberStyle;

std::int64_t count_of(std::size_t size) { return static_cast<std::int64_t>(size); }

void write_head(const SweepResult& sweep, const Advice& advice, const report::Sink& sink) {
  report::Facts facts;
  facts.emplace_back("Dump", sweep.dump.files.front().string());
  facts.emplace_back("Replayed", fmt::format("{} on {}, {}, {} with {}",
                                             report::plural(count_of(sweep.configurations.size()), "configuration"),
                                             report::plural(count_of(sweep.steps.size()), "step"),
                                             report::plural(count_of(sweep.process_ranks.size()), "process rank"),
                                             report::plural(count_of(sweep.parameters.size()), "parameter"),
                                             report::plural(sweep.numel, "element")));
  facts.emplace_back(
      "Work", fmt::format("{} over the dump, {} of state, {} in all", report::plural(count_of(sweep.passes), "pass"),
                          report::bytes_text(sweep.state_bytes), report::seconds_text(sweep.seconds_total)));
  if (advice.has_network)
    facts.emplace_back("Network", fmt::format("{}alpha {:.3g} µs, {:.4g} GB/s, {} all-reduce, {}{}",
                                              advice.network.name.empty() ? "" : advice.network.name + ": ",
                                              advice.cluster.network.alpha * 1e6, 1e-9 / advice.cluster.network.beta,
                                              model::to_string(advice.cluster.algorithm),
                                              report::plural(advice.cluster.process_ranks, "process rank"),
                                              advice.network.fit_error ? fmt::format(", fitted to within {:.1f} %",
                                                                                     *advice.network.fit_error * 100)
                                                                       : ""));
  if (!sweep.complete) facts.emplace_back("Incomplete", "interrupted: only finished configurations are shown");
  report::write_facts(facts, sink);
  sink("\n");
}

report::Table configurations(const SweepResult& sweep, const Advice& advice) {
  report::Table table({{"configuration", Align::left, NumberStyle::general, 4, "configuration"},
                       {"bytes", Align::right, NumberStyle::general, 4, "sent a step", "kB"},
                       {"times", Align::right, NumberStyle::general, 4, "times fewer"},
                       {"error", Align::right, NumberStyle::fixed, 4, "error of tensors"},
                       {"whole", Align::right, NumberStyle::fixed, 4, "of the whole model"},
                       {"compress", Align::right, NumberStyle::general, 3, "compressing", "ms"},
                       {"step", Align::right, NumberStyle::general, 4, "predicted step", "ms"},
                       {"bandwidth", Align::right, NumberStyle::general, 3, "pays below", "GB/s"},
                       {"front", Align::left, NumberStyle::general, 4, "on the front"}});
  for (std::size_t i = 0; i < sweep.configurations.size(); ++i) {
    const auto& judged = advice.configurations[i];
    const auto& summary = sweep.configurations[i].summary;
    const auto number = [](double value) { return report::cell_if(std::isfinite(value), value); };
    const std::string& label = sweep.configurations[i].label;
    table.add({label.empty() ? std::string("as given") : label, judged.bytes_per_step / 1e3,
               number(advice.dense_bytes / judged.bytes_per_step), number(summary.relative_error.mean),
               number(judged.relative_error), number(judged.compress_seconds * 1e3),
               number(judged.time ? judged.time->with_overlap * 1e3 : std::nan("")),
               number(judged.break_even_bandwidth.value_or(std::nan("")) * 1e-9), judged.on_front});
  }
  return table;
}

}  // namespace

void write_sweep_text(const SweepResult& sweep, const Advice& advice, const report::Sink& sink) {
  write_head(sweep, advice, sink);
  report::write_text(configurations(sweep, advice), sink);
  write_layers(sweep, advice, sink);
  write_plan(sweep, advice, sink);
  write_spectrum_text(sweep, sink);
  sink("\nAdvice\n");
  for (const std::string& reason : advice.reasons) sink(fmt::format("- {}\n", reason));
  if (!advice.pytorch.empty() || !advice.epfml.empty()) sink("\n");
  if (!advice.pytorch.empty()) sink(fmt::format("PyTorch:        {}\n", advice.pytorch));
  if (!advice.epfml.empty()) sink(fmt::format("epfml/powersgd: {}\n", advice.epfml));
  sink(fmt::format("\n{}\n", psgd::replay::open_loop_notice));
}

}  // namespace psgd::tools::sweep
