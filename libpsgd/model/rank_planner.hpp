#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace psgd::model {

/// One way to send a layer.
struct LayerOption {
  std::int64_t rank = 0;  ///< 0: uncompressed
  double cost = 0;        ///< bytes, or seconds: what the budget counts
  double error_sq = 0;    ///< ‖O − G‖², the error it leaves
};

struct Layer {
  std::vector<LayerOption> options;
};

/// One option for every layer.
struct Plan {
  std::vector<std::size_t> choice;  ///< into Layer::options
  double cost = 0;
  double error_sq = 0;
};

/// The plan of least error whose cost does not exceed `budget`; nothing when no plan is that cheap.
std::optional<Plan> plan_under_cost(std::span<const Layer> layers, double budget);

/// The cheapest plan whose error_sq does not exceed `budget`; nothing when no plan is that good.
std::optional<Plan> plan_under_error(std::span<const Layer> layers, double budget);

/// The plan of least cost, and of least error: the nearest that a budget nobody can meet comes to.
Plan cheapest_plan(std::span<const Layer> layers);
Plan most_exact_plan(std::span<const Layer> layers);

/// All plans that no other beats in both cost and error, cheapest first.
///
/// Dynamic programming over layers, as L-GreCo: the front of the first k layers extends that of k − 1. Exact while the
/// front has at most `most` plans; beyond that neighbours closer than 1/most of the range of costs are merged, keeping
/// the cheaper one, so that a plan found stays valid and its cost is at most layers/most of the range above the best.
/// Source: Alimohammadi et al., L-GreCo: Layerwise-Adaptive Gradient Compression, MLSys 2024, algorithm 1.
std::vector<Plan> pareto_front(std::span<const Layer> layers, std::size_t most = 20000);

}  // namespace psgd::model
