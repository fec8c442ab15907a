#include "libpsgd/replay/judgement.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/compress/registry.hpp"

namespace psgd::replay {
namespace {

double compressed_elements(const SweepResult& sweep, const ConfigurationResult& configuration) {
  double elements = 0;
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    if (configuration.parameters[i].compressed_steps > 0) elements += static_cast<double>(sweep.parameters[i].numel);
  }
  return elements;
}

/// Parameters compressed as part of a larger matrix have no bytes of their own, and are no layers.
std::vector<JudgedLayer> judge_layers(const SweepResult& sweep, const ConfigurationResult& configuration,
                                      const AdviceOptions& options) {
  const bool gathers = compress::hook(configuration.resolved.spec.hook).collective == compress::Collective::all_gather;
  model::Cluster cluster = cluster_of(sweep, options);
  cluster.network.alpha = 0;
  std::vector<JudgedLayer> layers;
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    const ParameterSummary& summary = configuration.parameters[i];
    if (summary.compressed_steps == 0 || !std::isfinite(summary.mean_bytes_sent)) continue;
    JudgedLayer layer;
    layer.parameter = i;
    layer.bytes = summary.mean_bytes_sent;
    layer.dense_bytes = sweep.parameters[i].bytes();
    layer.compress_seconds = compress_seconds(sweep, configuration, i) * options.compression_scale;
    model::BucketCost cost;
    cost.dense_bytes = layer.dense_bytes;
    (gathers ? cost.gathered_bytes : cost.p_bytes) = layer.bytes;
    cost.compress_seconds = layer.compress_seconds;
    layer.break_even_bandwidth = model::break_even_bandwidth({&cost, 1}, cluster);
    if (options.cluster) layer.break_even_process_ranks = model::break_even_process_ranks({&cost, 1}, cluster);
    layers.push_back(layer);
  }
  return layers;
}

double cost_of(const JudgedConfiguration& judged) {
  return judged.time ? judged.time->with_overlap : judged.bytes_per_step;
}

}  // namespace

model::Cluster cluster_of(const SweepResult& sweep, const AdviceOptions& options) {
  model::Cluster cluster = options.cluster.value_or(model::Cluster{});
  if (!options.cluster || cluster.process_ranks == 0)
    cluster.process_ranks = static_cast<std::int64_t>(sweep.process_ranks.size());
  return cluster;
}

bool compresses(const ConfigurationResult& configuration) {
  return std::any_of(configuration.parameters.begin(), configuration.parameters.end(),
                     [](const ParameterSummary& summary) { return summary.compressed_steps > 0; });
}

double compress_seconds(const SweepResult& sweep, const ConfigurationResult& configuration, std::size_t parameter) {
  const double seconds = configuration.summary.seconds_compressing;
  const double elements = compressed_elements(sweep, configuration);
  if (!std::isfinite(seconds) || elements == 0) return 0;
  return seconds * static_cast<double>(sweep.parameters[parameter].numel) / elements;
}

JudgedConfiguration judge(const SweepResult& sweep, std::size_t index, const AdviceOptions& options) {
  const ConfigurationResult& configuration = sweep.configurations[index];
  std::vector<model::BucketCost> costs = configuration.buckets;
  JudgedConfiguration judged;
  judged.index = index;
  judged.relative_error = configuration.relative_error_sound_model.mean;
  for (model::BucketCost& cost : costs) {
    cost.compress_seconds *= options.compression_scale;
    judged.bytes_per_step += cost.sent_bytes();
    judged.compress_seconds += cost.compress_seconds;
  }
  const model::Cluster cluster = cluster_of(sweep, options);
  if (!compresses(configuration)) {
    if (options.cluster) judged.time = model::dense_step(costs, cluster);
    return judged;
  }
  judged.break_even_bandwidth = model::break_even_bandwidth(costs, cluster);
  judged.layers = judge_layers(sweep, configuration, options);
  if (!options.cluster) return judged;
  judged.time = model::compressed_step(costs, cluster);
  judged.break_even_process_ranks = model::break_even_process_ranks(costs, cluster);
  return judged;
}

void mark_front(std::vector<JudgedConfiguration>& configurations) {
  for (JudgedConfiguration& judged : configurations) {
    const auto beats = [&](const JudgedConfiguration& other) {
      const bool no_worse = other.relative_error <= judged.relative_error && cost_of(other) <= cost_of(judged);
      return no_worse && (other.relative_error < judged.relative_error || cost_of(other) < cost_of(judged));
    };
    judged.on_front =
        std::isfinite(judged.relative_error) && std::none_of(configurations.begin(), configurations.end(), beats);
  }
}

}  // namespace psgd::replay
