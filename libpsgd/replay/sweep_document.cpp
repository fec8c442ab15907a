#include "libpsgd/replay/sweep_document.hpp"

#include <cmath>

#include "libpsgd/replay/document.hpp"
#include "libpsgd/replay/spectrum_document.hpp"

namespace psgd::replay {
namespace {

using report::Cell;
using report::finite_or_null;
using report::Json;

Json optional_json(const std::optional<double>& value) { return value ? finite_or_null(*value) : Json(nullptr); }

Json time_json(const std::optional<model::StepTime>& time) {
  if (!time) return nullptr;
  return {{"communication", time->communication},
          {"compression", time->compression},
          {"without_overlap", time->without_overlap},
          {"with_overlap", time->with_overlap}};
}

Json range_json(const std::optional<model::ProcessRankRange>& range) {
  if (!range) return nullptr;
  return {{"first", range->first}, {"last", range->last ? Json(*range->last) : Json(nullptr)}};
}

/// What pays below any bandwidth is infinite, which JSON has no number for.
Json bandwidth_json(const std::optional<double>& bandwidth) {
  if (bandwidth && std::isinf(*bandwidth)) return "any";
  return optional_json(bandwidth);
}

Json layers_json(const SweepResult& sweep, const JudgedConfiguration& judged) {
  Json layers = Json::array();
  for (const JudgedLayer& layer : judged.layers) {
    layers.push_back({{"parameter", sweep.parameters[layer.parameter].name},
                      {"bytes", layer.bytes},
                      {"dense_bytes", layer.dense_bytes},
                      {"compress_seconds", layer.compress_seconds},
                      {"break_even_bandwidth", bandwidth_json(layer.break_even_bandwidth)},
                      {"break_even_process_ranks", range_json(layer.break_even_process_ranks)}});
  }
  return layers;
}

Json buckets_json(const ConfigurationResult& configuration) {
  Json buckets = Json::array();
  for (const model::BucketCost& cost : configuration.buckets) {
    buckets.push_back({{"dense_bytes", cost.dense_bytes},
                       {"uncompressed_bytes", cost.uncompressed_bytes},
                       {"p_bytes", cost.p_bytes},
                       {"q_bytes", cost.q_bytes},
                       {"gathered_bytes", cost.gathered_bytes},
                       {"compress_seconds", cost.compress_seconds}});
  }
  return buckets;
}

Json judged_json(const SweepResult& sweep, const JudgedConfiguration& judged) {
  return {{"relative_error", finite_or_null(judged.relative_error)},
          {"bytes_per_step", judged.bytes_per_step},
          {"compress_seconds", judged.compress_seconds},
          {"step_seconds", time_json(judged.time)},
          {"break_even_bandwidth", bandwidth_json(judged.break_even_bandwidth)},
          {"break_even_process_ranks", range_json(judged.break_even_process_ranks)},
          {"buckets", buckets_json(sweep.configurations[judged.index])},
          {"layers", layers_json(sweep, judged)},
          {"on_front", judged.on_front}};
}

Json parameter_json(const ReplayedParameter& parameter, const ParameterSummary& summary) {
  return {{"parameter", parameter.name},
          {"rows", parameter.rows},
          {"cols", parameter.cols},
          {"rank", summary.compressed_steps > 0 ? Json(summary.rank) : Json(nullptr)},
          {"relative_error", finite_or_null(summary.mean_relative_error)},
          {"numel_after", summary.numel_after < 0 ? Json(nullptr) : Json(summary.numel_after)},
          {"residual_norms", summary.last_residual_norms}};
}

Json configuration_json(const SweepResult& sweep, const Advice& advice, std::size_t index) {
  const ConfigurationResult& configuration = sweep.configurations[index];
  Json parameters = Json::array();
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    parameters.push_back(parameter_json(sweep.parameters[i], configuration.parameters[i]));
  }
  return {{"label", configuration.label},
          {"config", config_json(configuration.resolved)},
          {"summary", summary_json(configuration.summary)},
          {"judgement", judged_json(sweep, advice.configurations[index])},
          {"parameters", std::move(parameters)}};
}

Json plan_json(const SweepResult& sweep, const LayerwisePlan& plan) {
  Json layers = Json::array();
  for (const LayerPlan& layer : plan.layers) {
    layers.push_back({{"parameter", sweep.parameters[layer.parameter].name},
                      {"rank", layer.rank > 0 ? Json(layer.rank) : Json(nullptr)},
                      {"bytes", layer.bytes},
                      {"dense_bytes", layer.dense_bytes},
                      {"relative_error", layer.relative_error},
                      {"worth_compressing", layer.worth_compressing}});
  }
  return {{"meets_budget", plan.meets_budget},
          {"bytes", plan.bytes},
          {"relative_error", plan.relative_error},
          {"seconds", plan.seconds ? Json(*plan.seconds) : Json(nullptr)},
          {"layers", std::move(layers)}};
}

Json network_json(const Advice& advice) {
  Json json{{"process_ranks", advice.cluster.process_ranks},
            {"all_reduce", std::string(model::to_string(advice.cluster.algorithm))}};
  json["alpha"] = advice.has_network ? Json(advice.cluster.network.alpha) : Json(nullptr);
  json["bandwidth"] = advice.has_network ? finite_or_null(1 / advice.cluster.network.beta) : Json(nullptr);
  json["name"] = advice.network.name.empty() ? Json(nullptr) : Json(advice.network.name);
  json["source"] = advice.network.source.empty() ? Json(nullptr) : Json(advice.network.source);
  json["fit_error"] = optional_json(advice.network.fit_error);
  return json;
}

Json advice_json(const SweepResult& sweep, const Advice& advice) {
  Json not_finite = Json::array();
  for (const std::size_t parameter : advice.not_finite) not_finite.push_back(sweep.parameters[parameter].name);
  return {{"network", network_json(advice)},
          {"dense_bytes", advice.dense_bytes},
          {"not_finite", std::move(not_finite)},
          {"dense_step_seconds", time_json(advice.dense)},
          {"recommended", advice.recommended ? Json(*advice.recommended) : Json(nullptr)},
          {"reasons", advice.reasons},
          {"pytorch", advice.pytorch.empty() ? Json(nullptr) : Json(advice.pytorch)},
          {"epfml", advice.epfml.empty() ? Json(nullptr) : Json(advice.epfml)},
          {"plan", advice.plan ? plan_json(sweep, *advice.plan) : Json(nullptr)}};
}

Json dump_json_of(const SweepResult& sweep) {
  ReplayResult like;
  like.dump = sweep.dump;
  like.process_ranks = sweep.process_ranks;
  like.steps = sweep.steps;
  like.parameters = sweep.parameters;
  like.numel = sweep.numel;
  return dump_json(like);
}

void fill_row(const SweepResult& sweep, const Advice& advice, std::size_t index, report::Row& row) {
  const ConfigurationResult& configuration = sweep.configurations[index];
  const JudgedConfiguration& judged = advice.configurations[index];
  const compress::PowerSGDOptions& options = configuration.resolved.spec.power_sgd;
  std::size_t at = 0;
  const auto put = [&](Cell cell) { row[at++] = std::move(cell); };
  const auto put_number = [&](double value) { put(std::isfinite(value) ? Cell{value} : Cell{}); };
  put(configuration.label);
  put(configuration.resolved.spec.hook);
  put(options.matrix_approximation_rank);
  put(judged.bytes_per_step);
  put_number(advice.dense_bytes / judged.bytes_per_step);
  put_number(configuration.summary.relative_error.mean);
  put_number(judged.relative_error);
  put_number(configuration.summary.seconds_per_step);
  put_number(judged.time ? judged.time->without_overlap : std::nan(""));
  put_number(judged.time ? judged.time->with_overlap : std::nan(""));
  put_number(judged.break_even_bandwidth.value_or(std::nan("")));
  put(judged.on_front);
}

}  // namespace

report::Table configuration_table(const SweepResult& sweep, const Advice& advice) {
  std::vector<report::Column> columns{report::text_column("configuration"),
                                      report::text_column("hook"),
                                      {"matrix_approximation_rank"},
                                      {"bytes_per_step"},
                                      {"times_fewer_bytes"},
                                      {"relative_error_mean"},
                                      {"relative_error_whole_model"},
                                      {"seconds_per_step"},
                                      {"predicted_seconds_without_overlap"},
                                      {"predicted_seconds_with_overlap"},
                                      {"break_even_bandwidth"},
                                      {"on_front"}};
  return {std::move(columns), sweep.configurations.size(),
          [&](std::size_t index, report::Row& row) { fill_row(sweep, advice, index, row); }};
}

report::JsonDocument document(const SweepResult& sweep, const Advice& advice) {
  report::JsonDocument document;
  document.add("schema", "psgd-sweep");
  document.add("version", 1);
  document.add("complete", sweep.complete);
  document.add("notice", std::string(open_loop_notice));
  document.add("dump", dump_json_of(sweep));
  document.add("passes", sweep.passes);
  document.add("state_bytes", sweep.state_bytes);
  document.add("seconds_read", sweep.seconds_read);
  document.add("seconds_total", sweep.seconds_total);
  Json configurations = Json::array();
  for (std::size_t i = 0; i < sweep.configurations.size(); ++i)
    configurations.push_back(configuration_json(sweep, advice, i));
  document.add("configurations", std::move(configurations));
  document.add("advice", advice_json(sweep, advice));
  document.add("spectrum", sweep.spectrum ? spectrum_json(sweep) : Json(nullptr));
  if (sweep.spectrum) document.add_table("spectrum_columns", "spectrum_records", spectrum_table(sweep));
  return document;
}

}  // namespace psgd::replay
