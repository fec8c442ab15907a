#include "libpsgd/replay/document.hpp"

#include <cmath>

#include <fmt/format.h>

#include "libpsgd/compress/registry.hpp"

namespace psgd::replay {
namespace {

using report::Cell;
using report::Json;

Json names(const std::vector<std::string>& values) { return values; }

Json path_or_null(const std::optional<std::filesystem::path>& path) {
  return path ? Json(path->string()) : Json(nullptr);
}

Json spread_json(const Spread& spread) {
  return {{"mean", report::finite_or_null(spread.mean)},
          {"median", report::finite_or_null(spread.median)},
          {"max", report::finite_or_null(spread.max)}};
}

Json hazard_json(const metrics::Hazard& hazard) {
  return {{"kind", std::string(metrics::to_string(hazard.kind))},
          {"step", hazard.step ? Json(*hazard.step) : Json(nullptr)},
          {"parameter", hazard.parameter.empty() ? Json(nullptr) : Json(hazard.parameter)},
          {"process_rank", hazard.process_rank ? Json(*hazard.process_rank) : Json(nullptr)},
          {"value", hazard.value ? report::finite_or_null(*hazard.value) : Json(nullptr)},
          {"count", hazard.count},
          {"text", hazard.text}};
}

/// Columns that every metric of the table gets, beyond those named in the contract.
std::vector<const metrics::Metric*> metrics_where(bool in_contract) {
  std::vector<const metrics::Metric*> chosen;
  for (const metrics::Metric& metric : metrics::metrics()) {
    const bool named = metric.name == "gradient_norm" || metric.name == "averaged_norm" ||
                       metric.name == "relative_error" || metric.name == "cosine";
    if (named == in_contract) chosen.push_back(&metric);
  }
  return chosen;
}

std::vector<report::Column> record_columns(const ReplayResult& result) {
  std::vector<report::Column> columns{{"step"},         report::text_column("parameter"),
                                      {"bucket"},       {"rows"},
                                      {"cols"},         {"compressed"},
                                      {"numel_before"}, {"numel_after"}};
  for (const metrics::Metric* metric : metrics_where(true)) columns.push_back({std::string(metric->name)});
  for (const std::int64_t rank : result.process_ranks) columns.push_back({fmt::format("residual_norm_rank{}", rank)});
  for (const metrics::Metric* metric : metrics_where(false)) columns.push_back({std::string(metric->name)});
  columns.push_back({"rank"});
  columns.push_back({"p_orthogonality"});
  columns.push_back({"q_orthogonality"});
  return columns;
}

/// NaN is what the library computes where a metric does not exist; a column shows it as no value.
Cell number_or_none(double value) { return std::isnan(value) ? Cell{} : Cell{value}; }

void fill_record(const ReplayResult& result, std::size_t index, report::Row& row) {
  const ParameterRecord& record = result.records[index];
  const ReplayedParameter& parameter = result.parameters[record.parameter];
  std::size_t at = 0;
  const auto put = [&](Cell cell) { row[at++] = std::move(cell); };
  put(record.step);
  put(parameter.name);
  put(std::int64_t{parameter.bucket});
  put(parameter.rows);
  put(parameter.cols);
  put(record.compressed);
  put(record.measurement.numel_before);
  put(record.measurement.numel_after < 0 ? Cell{} : Cell{record.measurement.numel_after});
  for (const metrics::Metric* metric : metrics_where(true)) {
    const double value = metric->value(record.measurement);
    const bool ratio = metric->name == "relative_error" || metric->name == "cosine";
    // A ratio to a zero norm does not exist; NaN in the gradient itself is a value.
    put(ratio && record.measurement.sums.gradient_sq == 0 ? Cell{} : Cell{value});
  }
  for (std::size_t rank = 0; rank < result.process_ranks.size(); ++rank) {
    put(rank < record.residual_norms.size() ? Cell{record.residual_norms[rank]} : Cell{});
  }
  for (const metrics::Metric* metric : metrics_where(false)) put(number_or_none(metric->value(record.measurement)));
  put(record.compressed ? Cell{record.rank} : Cell{});
  put(number_or_none(record.p_orthogonality));
  put(number_or_none(record.q_orthogonality));
}

void fill_bucket_record(const ReplayResult& result, std::size_t index, report::Row& row) {
  const BucketRecord& record = result.bucket_records[index];
  std::size_t at = 0;
  const auto put = [&](Cell cell) { row[at++] = std::move(cell); };
  put(record.step);
  put(std::int64_t{record.bucket});
  put(record.compressed);
  put(record.numel_before);
  put(record.numel_after);
  put(record.side > 0 ? Cell{record.side} : Cell{});
  put(number_or_none(record.p_orthogonality));
  put(number_or_none(record.q_orthogonality));
}

}  // namespace

Json config_json(const ResolvedSpec& resolved) {
  const ReplaySpec& spec = resolved.spec;
  const compress::PowerSGDOptions& power_sgd = spec.power_sgd;
  Json steps = nullptr;
  if (spec.steps) steps = Json::array({spec.steps->first, spec.steps->second});
  const compress::HookEntry& hook = compress::hook(spec.hook);
  const auto of_power_sgd = [&](const auto& value) { return hook.has_power_sgd_state ? Json(value) : Json(nullptr); };
  return {{"hook", spec.hook},
          {"matrix_approximation_rank", power_sgd.matrix_approximation_rank},
          {"start_powerSGD_iter", power_sgd.start_powerSGD_iter},
          {"min_compression_rate", power_sgd.min_compression_rate},
          {"use_error_feedback", hook.keeps_errors ? Json(power_sgd.use_error_feedback) : Json(nullptr)},
          {"warm_start", of_power_sgd(power_sgd.warm_start)},
          {"batch_tensors_with_same_shape", of_power_sgd(power_sgd.batch_tensors_with_same_shape)},
          {"orthogonalization_epsilon", of_power_sgd(power_sgd.orthogonalization_epsilon)},
          {"random_seed", power_sgd.random_seed},
          {"compression_stats_logging_frequency", of_power_sgd(power_sgd.compression_stats_logging_frequency)},
          {"fraction", hook.knobs.fraction ? Json(spec.baseline.fraction) : Json(nullptr)},
          {"quantization_bits", hook.knobs.quantization ? Json(spec.baseline.quantization_bits) : Json(nullptr)},
          {"quantization_chunk", hook.knobs.quantization ? Json(spec.baseline.quantization_chunk) : Json(nullptr)},
          {"orthogonalization", spec.orthogonalization},
          {"residual", std::string(to_string(spec.residual))},
          {"arithmetic", std::string(to_string(resolved.arithmetic))},
          {"dtype", std::string(to_string(resolved.dtype))},
          {"draw_in_compute_dtype", spec.draw_in_compute_dtype},
          {"backend", spec.backend},
          {"transport", spec.transport},
          {"steps", std::move(steps)},
          {"process_ranks", spec.process_ranks ? Json(*spec.process_ranks) : Json(nullptr)},
          {"parameters", names(spec.parameters)},
          {"exclude", names(spec.exclude)},
          {"output", path_or_null(spec.output)},
          {"state_in", path_or_null(spec.state_in)},
          {"state_out", path_or_null(spec.state_out)},
          {"memory_limit", spec.memory_limit > 0 ? Json(spec.memory_limit) : Json(nullptr)},
          {"threads", spec.threads}};
}

Json dump_json(const ReplayResult& result) {
  Json files = Json::array();
  for (const std::filesystem::path& file : result.dump.files) files.push_back(file.string());
  return {{"files", std::move(files)},
          {"world_size", result.dump.world_size},
          {"process_ranks", result.process_ranks},
          {"steps", result.steps},
          {"parameters", result.parameters.size()},
          {"numel", result.numel},
          {"dtype", std::string(to_string(result.dump.dtype()))},
          {"framework", result.dump.framework},
          {"model", result.dump.model},
          {"notes", names(result.dump.notes)}};
}

Json summary_json(const Summary& summary) {
  Json hazards = Json::array();
  for (const metrics::Hazard& hazard : summary.hazards) hazards.push_back(hazard_json(hazard));
  const compress::CompressionStats& stats = summary.compression_stats;
  return {{"compression_stats", Json::array({stats.rate, stats.numel_before, stats.numel_after})},
          {"relative_error", spread_json(summary.relative_error)},
          {"relative_error_whole_model", spread_json(summary.relative_error_whole_model)},
          {"seconds_per_step", report::finite_or_null(summary.seconds_per_step)},
          {"seconds_compressing", report::finite_or_null(summary.seconds_compressing)},
          {"seconds_read", summary.seconds_read},
          {"seconds_upload", summary.seconds_upload},
          {"seconds_total", summary.seconds_total},
          {"hazards", std::move(hazards)}};
}

report::Table record_table(const ReplayResult& result) {
  return {record_columns(result), result.records.size(),
          [&result](std::size_t index, report::Row& row) { fill_record(result, index, row); }};
}

report::Table bucket_table(const ReplayResult& result) {
  std::vector<report::Column> columns{{"step"},        {"bucket"}, {"compressed"},      {"numel_before"},
                                      {"numel_after"}, {"side"},   {"p_orthogonality"}, {"q_orthogonality"}};
  return {std::move(columns), result.bucket_records.size(),
          [&result](std::size_t index, report::Row& row) { fill_bucket_record(result, index, row); }};
}

report::JsonDocument document(const ReplayResult& result) {
  report::JsonDocument document;
  document.add("schema", "psgd-replay");
  document.add("version", 1);
  document.add("complete", result.complete);
  document.add("notice", std::string(open_loop_notice));
  document.add("config", config_json(result.resolved));
  document.add("dump", dump_json(result));
  document.add("summary", summary_json(result.summary));
  document.add_table("columns", "records", record_table(result));
  document.add_table("bucket_columns", "bucket_records", bucket_table(result));
  return document;
}

}  // namespace psgd::replay
