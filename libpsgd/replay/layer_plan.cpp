#include "libpsgd/replay/layer_plan.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/model/rank_planner.hpp"
#include "libpsgd/replay/judgement.hpp"

namespace psgd::replay {
namespace {

bool same_but_rank(const ReplaySpec& a, const ReplaySpec& b) {
  compress::PowerSGDOptions options = a.power_sgd;
  options.matrix_approximation_rank = b.power_sgd.matrix_approximation_rank;
  return a.hook == b.hook && options == b.power_sgd && a.orthogonalization == b.orthogonalization &&
         a.residual == b.residual && a.arithmetic == b.arithmetic && a.dtype == b.dtype;
}

/// The first set of layerwise configurations that differ in nothing but the rank.
std::vector<std::size_t> rank_family(const SweepResult& sweep) {
  for (std::size_t i = 0; i < sweep.configurations.size(); ++i) {
    const ReplaySpec& first = sweep.configurations[i].resolved.spec;
    if (first.hook != "powersgd") continue;
    std::vector<std::size_t> family;
    for (std::size_t j = i; j < sweep.configurations.size(); ++j) {
      if (same_but_rank(first, sweep.configurations[j].resolved.spec)) family.push_back(j);
    }
    if (family.size() > 1) return family;
  }
  return {};
}

/// Ways to send a layer: first uncompressed, then at the ranks of the family.
struct MeasuredLayer {
  struct Option {
    std::int64_t rank = 0;
    double bytes = 0;
    double seconds = 0;  ///< on the wire, latency aside, and compressing; 0 without a network
    double error_sq = 0;
  };
  std::vector<Option> options;
  double gradient_sq = 0;  ///< mean square of its gradient
};

MeasuredLayer measure(const SweepResult& sweep, const std::vector<std::size_t>& family, std::size_t parameter,
                      const AdviceOptions& options) {
  const model::Cluster cluster = cluster_of(sweep, options);
  const double seconds_a_byte =
      options.cluster ? model::all_reduce_traffic(cluster.algorithm, cluster.process_ranks) * cluster.network.beta : 0;
  MeasuredLayer layer;
  const double dense = sweep.parameters[parameter].bytes();
  layer.options.push_back({0, dense, dense * seconds_a_byte, 0});
  for (const std::size_t member : family) {
    const ConfigurationResult& configuration = sweep.configurations[member];
    const ParameterSummary& summary = configuration.parameters[parameter];
    if (summary.compressed_steps == 0 || !std::isfinite(summary.mean_difference_sq)) continue;
    layer.gradient_sq = summary.mean_gradient_sq;
    const double compressing =
        options.cluster ? compress_seconds(sweep, configuration, parameter) * options.compression_scale : 0;
    layer.options.push_back({summary.rank, summary.mean_bytes_sent,
                             summary.mean_bytes_sent * seconds_a_byte + compressing, summary.mean_difference_sq});
  }
  return layer;
}

/// What the planner is to keep low: seconds where they are known and bytes are not bounded, else bytes.
model::Layer for_planner(const MeasuredLayer& measured, bool by_seconds) {
  model::Layer layer;
  for (const MeasuredLayer::Option& option : measured.options)
    layer.options.push_back({option.rank, by_seconds ? option.seconds : option.bytes, option.error_sq});
  return layer;
}

/// Mean square of the whole model's gradient, uncompressed layers included; parameters that are not finite left out.
double whole_gradient_sq(const ConfigurationResult& configuration) {
  double sum = 0;
  for (const ParameterSummary& summary : configuration.parameters) {
    if (std::isfinite(summary.mean_gradient_sq_all_steps)) sum += summary.mean_gradient_sq_all_steps;
  }
  return sum;
}

LayerPlan describe(const MeasuredLayer& layer, std::size_t parameter, std::size_t choice, bool by_seconds) {
  const MeasuredLayer::Option& chosen = layer.options[choice];
  const MeasuredLayer::Option& dense = layer.options.front();
  LayerPlan plan;
  plan.parameter = parameter;
  plan.rank = chosen.rank;
  plan.bytes = chosen.bytes;
  plan.dense_bytes = dense.bytes;
  plan.relative_error = layer.gradient_sq > 0 ? std::sqrt(chosen.error_sq / layer.gradient_sq) : 0;
  plan.worth_compressing =
      std::any_of(layer.options.begin() + 1, layer.options.end(), [&](const MeasuredLayer::Option& option) {
        return option.bytes < dense.bytes && (!by_seconds || option.seconds < dense.seconds);
      });
  return plan;
}

/// The best plan within the budgets, or the nearest to them.
model::Plan choose(const std::vector<model::Layer>& layers, const AdviceOptions& options, double gradient_sq,
                   bool& meets_budget) {
  std::optional<model::Plan> plan;
  if (!options.error_budget) {
    plan = model::plan_under_cost(layers, *options.byte_budget);
    meets_budget = plan.has_value();
    return plan ? *plan : model::cheapest_plan(layers);
  }
  plan = model::plan_under_error(layers, *options.error_budget * *options.error_budget * gradient_sq);
  meets_budget = plan && (!options.byte_budget || plan->cost <= *options.byte_budget);
  return plan ? *plan : model::most_exact_plan(layers);
}

}  // namespace

std::optional<LayerwisePlan> plan_layers(const SweepResult& sweep, const AdviceOptions& options) {
  const std::vector<std::size_t> family = rank_family(sweep);
  if (family.empty() || (!options.error_budget && !options.byte_budget)) return std::nullopt;
  const bool by_seconds = options.cluster && !options.byte_budget;
  std::vector<MeasuredLayer> measured;
  std::vector<model::Layer> layers;
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    measured.push_back(measure(sweep, family, i, options));
    layers.push_back(for_planner(measured.back(), by_seconds));
  }
  const double gradient_sq = whole_gradient_sq(sweep.configurations[family.front()]);

  LayerwisePlan result;
  const model::Plan plan = choose(layers, options, gradient_sq, result.meets_budget);
  result.relative_error = gradient_sq > 0 ? std::sqrt(plan.error_sq / gradient_sq) : 0;
  double seconds = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    result.layers.push_back(describe(measured[i], i, plan.choice[i], options.cluster.has_value()));
    result.bytes += result.layers.back().bytes;
    seconds += measured[i].options[plan.choice[i]].seconds;
  }
  if (options.cluster) result.seconds = seconds;
  return result;
}

}  // namespace psgd::replay
