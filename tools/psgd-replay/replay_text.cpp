#include "tools/psgd-replay/replay_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "libpsgd/replay/document.hpp"
#include "libpsgd/report/quantity.hpp"
#include "libpsgd/report/text.hpp"
#include "tools/psgd-replay/advice.hpp"
#include "tools/psgd-replay/parameter_summary.hpp"

namespace psgd::tools::replay {
namespace {

using psgd::replay::ReplayResult;
using psgd::replay::Spread;
using report::Align;
using report::cell_if;
using report::Column;
using report::NumberStyle;
using report::text_column;

constexpr std::size_t hazards_shown_a_kind = 5;

std::int64_t count_of(std::size_t size) { return static_cast<std::int64_t>(size); }

std::string_view on_off_text(bool value) { return value ? "on" : "off"; }

std::string what_text(const ReplayResult& result) {
  const auto& files = result.dump.files;
  std::string text = files.front().string();
  if (files.size() > 1) text += fmt::format(" and {} more", files.size() - 1);
  if (!result.dump.model.empty()) text += fmt::format(" ({})", result.dump.model);
  return text;
}

std::string extent_text(const ReplayResult& result) {
  std::string steps = report::plural(count_of(result.steps.size()), "step");
  if (!result.steps.empty()) steps += fmt::format(" ({} to {})", result.steps.front(), result.steps.back());
  return fmt::format("{}, {}, {} with {} in {}", steps,
                     report::plural(count_of(result.process_ranks.size()), "process rank"),
                     report::plural(count_of(result.parameters.size()), "parameter"),
                     report::plural(result.numel, "element"), to_string(result.dump.dtype()));
}

std::string compression_text(const ReplayResult& result) {
  const auto& spec = result.resolved.spec;
  const auto& power_sgd = spec.power_sgd;
  if (spec.hook == "none") return "none, plain averaging";
  std::string text =
      fmt::format("{}, rank {}, seed {}", spec.hook, power_sgd.matrix_approximation_rank, power_sgd.random_seed);
  if (spec.hook == "original") return text;
  return text + fmt::format(", start at iteration {}, min rate {}, error feedback {}, warm start {}",
                            power_sgd.start_powerSGD_iter, power_sgd.min_compression_rate,
                            on_off_text(power_sgd.use_error_feedback), on_off_text(power_sgd.warm_start));
}

std::string rate_text(const ReplayResult& result) {
  const auto& stats = result.summary.compression_stats;
  if (stats.numel_after == 0) return "nothing was compressed";
  return fmt::format("{:.4g} times: {} elements became {}, over the steps that compressed", stats.rate,
                     report::count_text(stats.numel_before), report::count_text(stats.numel_after));
}

std::string spread_text(const Spread& spread, std::string_view over) {
  if (std::isnan(spread.mean)) return "-";
  return fmt::format("mean {:.4g}, median {:.4g}, largest {:.4g} ({})", spread.mean, spread.median, spread.max, over);
}

std::string time_text(const ReplayResult& result) {
  const auto& summary = result.summary;
  return fmt::format("{} a compressed step (median); reading {}, all {}",
                     report::seconds_text(summary.seconds_per_step), report::seconds_text(summary.seconds_read),
                     report::seconds_text(summary.seconds_total));
}

report::Facts facts(const ReplayResult& result) {
  const auto& resolved = result.resolved;
  report::Facts facts{
      {"Dump", what_text(result)},
      {"Replayed", extent_text(result)},
      {"Compression", compression_text(result)},
      {"Computed", fmt::format("{}, {}, on {}, {} process ranks", to_string(resolved.arithmetic),
                               to_string(resolved.dtype), resolved.spec.backend, resolved.spec.transport)},
      {"Compression rate", rate_text(result)},
      {"Relative error", spread_text(result.summary.relative_error, "compressed tensors")},
      {"Whole model's error", spread_text(result.summary.relative_error_whole_model, "steps, all parameters together")},
      {"Time", time_text(result)},
      {"State in memory", report::bytes_text(result.state_bytes)}};
  for (const std::string& note : result.dump.notes) facts.emplace_back("Note", note);
  if (resolved.spec.output) facts.emplace_back("Averaged gradients", "written to " + resolved.spec.output->string());
  if (resolved.spec.state_out) facts.emplace_back("State", "written to " + resolved.spec.state_out->string());
  return facts;
}

report::Table parameter_table(const ReplayResult& result) {
  report::Table table({text_column("parameter"),
                       {"rows"},
                       {"cols"},
                       {"compressed", Align::right, NumberStyle::general, 4, "steps compressed"},
                       {"relative_error", Align::right, NumberStyle::fixed, 4, "relative error"},
                       {"target_error", Align::right, NumberStyle::fixed, 4, "lost in a step"},
                       {"cosine", Align::right, NumberStyle::fixed, 4},
                       {"residual_norm", Align::right, NumberStyle::general, 4, "residual norm"},
                       {"residual_growth", Align::right, NumberStyle::general, 3, "residual growth"}});
  const std::vector<ParameterSummary> summaries = summarize_parameters(result);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const auto& parameter = result.parameters[i];
    const ParameterSummary& summary = summaries[i];
    table.add({parameter.name, parameter.rows, parameter.cols, summary.compressed_steps,
               cell_if(!std::isnan(summary.mean_relative_error), summary.mean_relative_error),
               cell_if(!std::isnan(summary.mean_target_error), summary.mean_target_error),
               cell_if(!std::isnan(summary.mean_cosine), summary.mean_cosine),
               cell_if(!std::isnan(summary.residual_norm), summary.residual_norm),
               cell_if(!std::isnan(summary.residual_growth), summary.residual_growth)});
  }
  return table;
}

std::string place_text(const metrics::Hazard& hazard) {
  std::string text = hazard.parameter;
  const auto append = [&](std::string_view what, const std::optional<std::int64_t>& number) {
    if (number) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, *number);
  };
  append("step", hazard.step);
  append("process rank", hazard.process_rank);
  return text;
}

void write_hazards(const std::vector<metrics::Hazard>& hazards, const report::Sink& sink) {
  if (hazards.empty()) {
    sink("\nNo hazards.\n");
    return;
  }
  report::Table table({text_column("kind", "hazard"),
                       text_column("where", "first seen"),
                       {"count"},
                       text_column("text", "what it means")});
  std::map<metrics::HazardKind, std::size_t> shown;
  for (const metrics::Hazard& hazard : hazards) {
    if (++shown[hazard.kind] > hazards_shown_a_kind) continue;
    table.add({std::string(metrics::to_string(hazard.kind)), place_text(hazard), hazard.count, hazard.text});
  }
  sink("\nHazards\n");
  report::write_text(table, sink);
  for (const auto& [kind, count] : shown) {
    if (count <= hazards_shown_a_kind) continue;
    sink(fmt::format("and {} more of {}\n", count - hazards_shown_a_kind, metrics::to_string(kind)));
  }
}

}  // namespace

void write_replay_text(const ReplayResult& result, const report::Sink& sink) {
  if (!result.complete) sink("INCOMPLETE: interrupted; everything below is about the steps done\n\n");
  report::write_facts(facts(result), sink);
  sink(
      "\nParameters, means over compressed steps. Relative error: of the output against this step's gradient, old "
      "losses that\n"
      "error feedback puts back included; lost in a step: of gradient plus error memory. Residuals: after the last "
      "step, over\n"
      "process ranks.\n");
  report::write_text(parameter_table(result), sink);
  write_hazards(result.summary.hazards, sink);
  sink("\nWhat to try next\n");
  for (const std::string& line : advise(result)) sink(fmt::format("- {}\n", line));
  sink(fmt::format("\n{}\n", psgd::replay::open_loop_notice));
}

}  // namespace psgd::tools::replay
