#include "libpsgd/replay/layer_plan.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/model/break_even.hpp"
#include "libpsgd/model/rank_planner.hpp"

namespace psgd::replay {
namespace {

bool same_but_rank(const ReplaySpec& a, const ReplaySpec& b) {
  compress::PowerSGDOptions options = a.power_sgd;
  options.matrix_approximation_rank = b.power_sgd.matrix_approximation_rank;
  return a.hook == b.hook && options == b.power_sgd && a.orthogonalization == b.orthogonalization &&
         a.residual == b.residual;
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

/// What a layer's options are, and the mean square of its gradient.
struct MeasuredLayer {
  model::Layer options;
  double gradient_sq = 0;
};

MeasuredLayer measure(const SweepResult& sweep, const std::vector<std::size_t>& family, std::size_t parameter,
                      double bytes) {
  MeasuredLayer layer;
  const double dense = bytes * static_cast<double>(sweep.parameters[parameter].numel);
  layer.options.options.push_back({0, dense, 0});
  for (const std::size_t member : family) {
    const ParameterSummary& summary = sweep.configurations[member].parameters[parameter];
    if (summary.compressed_steps == 0 || !std::isfinite(summary.mean_difference_sq)) continue;
    layer.gradient_sq = summary.mean_gradient_sq;
    layer.options.options.push_back(
        {summary.rank, bytes * static_cast<double>(summary.numel_after), summary.mean_difference_sq});
  }
  return layer;
}

/// Mean square of the whole model's gradient, uncompressed layers included.
double whole_gradient_sq(const ConfigurationResult& configuration) {
  double sum = 0;
  for (const ParameterSummary& summary : configuration.parameters) sum += summary.mean_gradient_sq_all_steps;
  return sum;
}

LayerPlan describe(const MeasuredLayer& layer, std::size_t parameter, std::size_t choice) {
  const model::LayerOption& chosen = layer.options.options[choice];
  LayerPlan plan;
  plan.parameter = parameter;
  plan.rank = chosen.rank;
  plan.bytes = chosen.cost;
  plan.dense_bytes = layer.options.options.front().cost;
  plan.relative_error = layer.gradient_sq > 0 ? std::sqrt(chosen.error_sq / layer.gradient_sq) : 0;
  plan.worth_compressing =
      std::any_of(layer.options.options.begin() + 1, layer.options.options.end(),
                  [&](const model::LayerOption& option) { return option.cost < plan.dense_bytes; });
  return plan;
}

}  // namespace

std::optional<LayerwisePlan> plan_layers(const SweepResult& sweep, const AdviceOptions& options) {
  const std::vector<std::size_t> family = rank_family(sweep);
  if (family.empty() || (!options.error_budget && !options.byte_budget)) return std::nullopt;
  const auto bytes = static_cast<double>(size_of(sweep.dump.dtype()));
  std::vector<MeasuredLayer> measured;
  std::vector<model::Layer> layers;
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    measured.push_back(measure(sweep, family, i, bytes));
    layers.push_back(measured.back().options);
  }
  const double gradient_sq = whole_gradient_sq(sweep.configurations[family.front()]);

  LayerwisePlan result;
  std::optional<model::Plan> plan;
  if (options.error_budget) {
    plan = model::plan_under_error(layers, *options.error_budget * *options.error_budget * gradient_sq);
    result.meets_budget = plan && (!options.byte_budget || plan->cost <= *options.byte_budget);
    if (!plan) plan = model::most_exact_plan(layers);
  } else {
    plan = model::plan_under_cost(layers, *options.byte_budget);
    result.meets_budget = plan.has_value();
    if (!plan) plan = model::cheapest_plan(layers);
  }
  result.bytes = plan->cost;
  result.relative_error = gradient_sq > 0 ? std::sqrt(plan->error_sq / gradient_sq) : 0;
  for (std::size_t i = 0; i < measured.size(); ++i) result.layers.push_back(describe(measured[i], i, plan->choice[i]));
  return result;
}

}  // namespace psgd::replay
