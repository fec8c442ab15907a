#include "tools/psgd-inspect/inspection_report.hpp"

namespace psgd::tools::inspect {
namespace {

using report::Json;

template <class Value>
Json json_of(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json loss_json(const std::optional<double>& loss) { return loss ? report::finite_or_null(*loss) : Json(nullptr); }

Json files_json(const dump::Description& dump) {
  Json files = Json::array();
  for (const auto& file : dump.files) files.push_back(file.string());
  return files;
}

Json gaps_json(const StepPattern& pattern) {
  Json gaps = Json::array();
  for (const StepGap& gap : pattern.gaps) gaps.push_back({{"after", gap.after}, {"before", gap.before}});
  return gaps;
}

Json dump_json(const Inspection& inspection) {
  const dump::Description& dump = inspection.dump;
  const TrainingRecord& training = inspection.training;
  return {{"files", files_json(dump)},
          {"world_size", dump.world_size},
          {"process_ranks", dump.process_ranks},
          {"missing_process_ranks", inspection.missing_process_ranks},
          {"steps", dump.steps},
          {"step_stride", inspection.step_pattern.stride},
          {"step_gaps", gaps_json(inspection.step_pattern)},
          {"parameters", dump.parameters.size()},
          {"numel", inspection.layout.numel},
          {"bytes_per_step", inspection.bytes_per_step()},
          {"dtype", to_string(dump.dtype())},
          {"grad_kind", to_string(dump.grad_kind)},
          {"complete", dump.complete},
          {"buckets_recorded", dump.buckets_recorded},
          {"framework", dump.framework},
          {"framework_version", dump.framework_version},
          {"model", dump.model},
          {"writer", dump.writer},
          {"loss", {{"first", loss_json(training.first_loss)}, {"last", loss_json(training.last_loss)}}},
          {"loss_scale",
           {{"min", report::finite_or_null(static_cast<double>(training.loss_scale_min))},
            {"max", report::finite_or_null(static_cast<double>(training.loss_scale_max))},
            {"changes", training.loss_scale_changes}}},
          {"accumulation", {{"min", training.accumulation_min}, {"max", training.accumulation_max}}}};
}

Json findings_json(const Inspection& inspection) {
  Json findings = Json::array();
  for (const Finding& finding : inspection.findings) {
    findings.push_back({{"kind", finding.kind},
                        {"severity", finding.severity == Finding::Severity::problem ? "problem" : "note"},
                        {"parameter", finding.parameter.empty() ? Json(nullptr) : Json(finding.parameter)},
                        {"step", json_of(finding.step)},
                        {"process_rank", json_of(finding.process_rank)},
                        {"count", finding.count},
                        {"text", finding.text}});
  }
  return findings;
}

}  // namespace

void write_inspection_json(const Inspection& inspection, const Json& config, const report::Sink& sink) {
  report::JsonDocument document;
  document.add("schema", "psgd-inspect");
  document.add("version", 1);
  document.add("complete", inspection.complete());
  document.add("config", config);
  document.add("dump", dump_json(inspection));
  document.add("sound", inspection.sound());
  document.add("findings", findings_json(inspection));
  document.add_table("rank_columns", "rank_records", rank_table(inspection));
  document.add_table("bucket_columns", "bucket_records", bucket_table(inspection));
  document.add_table("columns", "records", parameter_table(inspection));
  document.write(sink);
}

}  // namespace psgd::tools::inspect
