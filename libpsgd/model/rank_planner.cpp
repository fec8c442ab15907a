#include "libpsgd/model/rank_planner.hpp"

#include <algorithm>
#include <limits>

#include "libpsgd/base/error.hpp"

namespace psgd::model {
namespace {

/// A plan for the first layers: its last choice and the plan before it, so that a front of n plans takes n entries a
/// layer.
struct Node {
  double cost = 0;
  double error_sq = 0;
  std::size_t option = 0;
  std::size_t before = 0;
};

using Front = std::vector<Node>;

/// Keeps what nothing beats, by ascending cost and so descending error.
void keep_best(Front& nodes) {
  std::sort(nodes.begin(), nodes.end(),
            [](const Node& a, const Node& b) { return a.cost != b.cost ? a.cost < b.cost : a.error_sq < b.error_sq; });
  Front best;
  for (const Node& node : nodes) {
    if (best.empty() || node.error_sq < best.back().error_sq) best.push_back(node);
  }
  nodes = std::move(best);
}

void thin(Front& nodes, std::size_t most) {
  if (nodes.size() <= most) return;
  const double first = nodes.front().cost;
  const double width = (nodes.back().cost - first) / static_cast<double>(most);
  Front kept;
  double next = -std::numeric_limits<double>::infinity();
  for (const Node& node : nodes) {
    if (node.cost < next) continue;
    kept.push_back(node);
    next = node.cost + width;
  }
  // The most exact plan is the answer to "how good can it get" and always stays.
  if (kept.back().cost < nodes.back().cost) kept.push_back(nodes.back());
  nodes = std::move(kept);
}

Front extend(const Front& before, const Layer& layer) {
  if (layer.options.empty()) throw Error::usage("a layer has no option to send it");
  Front after;
  after.reserve(before.size() * layer.options.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (std::size_t option = 0; option < layer.options.size(); ++option) {
      const LayerOption& chosen = layer.options[option];
      after.push_back({before[i].cost + chosen.cost, before[i].error_sq + chosen.error_sq, option, i});
    }
  }
  keep_best(after);
  return after;
}

Plan trace(const std::vector<Front>& fronts, std::size_t last) {
  Plan plan;
  plan.choice.resize(fronts.size() - 1);
  plan.cost = fronts.back()[last].cost;
  plan.error_sq = fronts.back()[last].error_sq;
  for (std::size_t layer = fronts.size() - 1; layer > 0; --layer) {
    plan.choice[layer - 1] = fronts[layer][last].option;
    last = fronts[layer][last].before;
  }
  return plan;
}

std::vector<Front> build(std::span<const Layer> layers, std::size_t most) {
  std::vector<Front> fronts{{Node{}}};
  for (const Layer& layer : layers) {
    fronts.push_back(extend(fronts.back(), layer));
    thin(fronts.back(), most);
  }
  return fronts;
}

constexpr std::size_t default_most = 20000;

template <class Better>
Plan best_layer_by_layer(std::span<const Layer> layers, Better better) {
  Plan plan;
  for (const Layer& layer : layers) {
    if (layer.options.empty()) throw Error::usage("a layer has no option to send it");
    const auto best = std::min_element(layer.options.begin(), layer.options.end(), better);
    plan.choice.push_back(static_cast<std::size_t>(best - layer.options.begin()));
    plan.cost += best->cost;
    plan.error_sq += best->error_sq;
  }
  return plan;
}

}  // namespace

std::vector<Plan> pareto_front(std::span<const Layer> layers, std::size_t most) {
  const std::vector<Front> fronts = build(layers, most);
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < fronts.back().size(); ++i) plans.push_back(trace(fronts, i));
  return plans;
}

std::optional<Plan> plan_under_cost(std::span<const Layer> layers, double budget) {
  const std::vector<Front> fronts = build(layers, default_most);
  for (std::size_t i = fronts.back().size(); i-- > 0;) {
    if (fronts.back()[i].cost <= budget) return trace(fronts, i);
  }
  return std::nullopt;
}

std::optional<Plan> plan_under_error(std::span<const Layer> layers, double budget) {
  const std::vector<Front> fronts = build(layers, default_most);
  for (std::size_t i = 0; i < fronts.back().size(); ++i) {
    if (fronts.back()[i].error_sq <= budget) return trace(fronts, i);
  }
  return std::nullopt;
}

Plan cheapest_plan(std::span<const Layer> layers) {
  return best_layer_by_layer(layers, [](const LayerOption& a, const LayerOption& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.error_sq < b.error_sq;
  });
}

Plan most_exact_plan(std::span<const Layer> layers) {
  return best_layer_by_layer(layers, [](const LayerOption& a, const LayerOption& b) {
    return a.error_sq != b.error_sq ? a.error_sq < b.error_sq : a.cost < b.cost;
  });
}

}  // namespace psgd::model
