#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libpsgd/report/quantity.hpp"
#include "libpsgd/report/text.hpp"
#include "tools/psgd-inspect/inspection_report.hpp"

namespace psgd::tools::inspect {
namespace {

using report::Align;
using report::cell_if;
using report::Column;
using report::Facts;
using report::NumberStyle;
using report::text_column;

std::int64_t count_of(std::size_t size) { return static_cast<std::int64_t>(size); }

std::string files_text(const dump::Description& dump) {
  const std::string first = dump.files.front().string();
  return dump.files.size() == 1 ? first : fmt::format("{} and {} more", first, dump.files.size() - 1);
}

std::string recorder_text(const dump::Description& dump) {
  std::string text = dump.writer;
  if (!dump.framework.empty())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dump.framework, dump.framework_version);
  return text.empty() ? "not said" : text;
}

std::string parameters_text(const Inspection& inspection) {
  const dump::Description& dump = inspection.dump;
  return fmt::format("{}, {} in {}, {} a step and process rank", report::count_text(count_of(dump.parameters.size())),
                     report::plural(inspection.layout.numel, "element"), to_string(dump.dtype()),
                     report::bytes_text(static_cast<std::uint64_t>(inspection.bytes_per_step())));
}

std::string loss_scale_text(const TrainingRecord& training) {
  if (training.loss_scale_changes == 0) return fmt::format("{}", training.loss_scale_min);
  return fmt::format("{} to {}, {}", training.loss_scale_min, training.loss_scale_max,
                     report::plural(training.loss_scale_changes, "change"));
}

Facts facts(const Inspection& inspection) {
  const dump::Description& dump = inspection.dump;
  const TrainingRecord& training = inspection.training;
  Facts facts{{dump.files.size() == 1 ? "File" : "Files", files_text(dump)}, {"Recorded by", recorder_text(dump)}};
  if (!dump.model.empty()) facts.emplace_back("Model", dump.model);
  facts.emplace_back("Process ranks", fmt::format("{} of {}", dump.process_ranks.size(), dump.world_size));
  facts.emplace_back("Steps", describe_steps(dump.steps, inspection.step_pattern));
  facts.emplace_back("Gradients", std::string(to_string(dump.grad_kind)));
  facts.emplace_back("Parameters", parameters_text(inspection));
  facts.emplace_back("Buckets",
                     fmt::format("{}, {}", inspection.layout.buckets.size(),
                                 dump.buckets_recorded ? "as recorded" : "by DistributedDataParallel's default rule"));
  if (training.first_loss && training.last_loss) {
    facts.emplace_back(
        "Loss", fmt::format("{:.4g} at the first step, {:.4g} at the last", *training.first_loss, *training.last_loss));
  }
  if (training.loss_scale_changes > 0 || training.loss_scale_min != 1) {
    facts.emplace_back("Loss scale", loss_scale_text(training));
  }
  if (training.accumulation_max > 1) {
    facts.emplace_back("Accumulation",
                       fmt::format("{} to {} micro-batches", training.accumulation_min, training.accumulation_max));
  }
  facts.emplace_back("Sound", inspection.sound() ? "yes" : "no, see the findings");
  return facts;
}

/// The ranks that compress a parameter: small ranks do, large ones do not.
std::string ranks_text(const Inspection& inspection, std::size_t parameter) {
  std::vector<std::int64_t> ranks;
  for (const RankPlan& plan : inspection.plans) {
    if (plan.compressed[parameter]) ranks.push_back(plan.rank);
  }
  return ranks.empty() ? "-" : fmt::format("{}", fmt::join(ranks, " "));
}

report::Table short_parameter_table(const Inspection& inspection) {
  std::vector<Column> columns{text_column("parameter"), text_column("shape"), {"bucket"}, {"rows"}, {"cols"}};
  if (inspection.survey) {
    columns.insert(columns.end(), {{"norm_min", Align::right, NumberStyle::general, 4, "least norm"},
                                   {"norm_max", Align::right, NumberStyle::general, 4, "largest norm"},
                                   {"zero_records", Align::right, NumberStyle::general, 4, "zero"},
                                   {"non_finite_values", Align::right, NumberStyle::general, 4, "not finite"}});
  }
  columns.push_back(text_column("ranks", "compressed at rank"));
  report::Table table(std::move(columns));
  for (std::size_t i = 0; i < inspection.dump.parameters.size(); ++i) {
    const Parameter& parameter = inspection.dump.parameters[i];
    const bool scalar = parameter.shape.empty();
    const MatrixExtents matrix = scalar ? MatrixExtents{} : matrix_extents(parameter.shape);
    report::Row row{parameter.name, to_string(parameter.shape), std::int64_t{parameter.bucket}};
    row.push_back(cell_if(!scalar, matrix.rows));
    row.push_back(cell_if(!scalar, matrix.cols));
    if (inspection.survey) {
      const GradientStatistics& statistics = inspection.survey->parameters[i];
      const bool any = statistics.finite_records > 0;
      row.push_back(cell_if(any, statistics.norm_min));
      row.push_back(cell_if(any, statistics.norm_max));
      row.emplace_back(statistics.zero_records);
      row.emplace_back(statistics.non_finite_values);
    }
    row.emplace_back(ranks_text(inspection, i));
    table.add(std::move(row));
  }
  return table;
}

std::string place_text(const Finding& finding) {
  std::string text = finding.parameter;
  const auto append = [&](std::string_view what, const std::optional<std::int64_t>& number) {
    if (number) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, *number);
  };
  append("step", finding.step);
  append("process rank", finding.process_rank);
  return text;
}

report::Table finding_table(const Inspection& inspection) {
  report::Table table({text_column("severity"),
                       text_column("kind"),
                       text_column("where"),
                       {"count"},
                       text_column("text", "what it means")});
  for (const Finding& finding : inspection.findings) {
    table.add({std::string(finding.severity == Finding::Severity::problem ? "problem" : "note"), finding.kind,
               place_text(finding), finding.count, finding.text});
  }
  return table;
}

std::string parameters_heading(const Inspection& inspection) {
  if (!inspection.survey) return "Parameters (gradients not read)";
  const auto records = count_of(inspection.dump.steps.size() * inspection.dump.process_ranks.size());
  return fmt::format("Parameters (over {}, one a step and process rank)", report::plural(records, "recorded gradient"));
}

}  // namespace

void write_inspection_text(const Inspection& inspection, const report::Sink& sink) {
  if (!inspection.complete()) sink("INCOMPLETE: interrupted before all gradients were read\n\n");
  report::write_facts(facts(inspection), sink);
  sink(fmt::format("\n{}\n", parameters_heading(inspection)));
  report::write_text(short_parameter_table(inspection), sink);
  sink("\nWhat each matrix approximation rank would send of a step, in PyTorch's layerwise hook\n");
  report::write_text(rank_table(inspection), sink);
  if (inspection.findings.empty()) {
    sink("\nNo findings.\n");
    return;
  }
  sink("\nFindings\n");
  report::write_text(finding_table(inspection), sink);
}

}  // namespace psgd::tools::inspect
