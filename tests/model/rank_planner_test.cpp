#include "libpsgd/model/rank_planner.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "libpsgd/base/error.hpp"

namespace psgd::model {
namespace {

std::vector<Layer> random_layers(std::mt19937& engine, std::size_t layers, std::size_t options) {
  std::uniform_int_distribution<int> cost(1, 40);
  std::uniform_real_distribution<double> error(0, 1);
  std::vector<Layer> result(layers);
  for (Layer& layer : result) {
    for (std::size_t i = 0; i < options; ++i)
      layer.options.push_back({static_cast<std::int64_t>(i), static_cast<double>(cost(engine)), error(engine)});
  }
  return result;
}

template <class Visit>
void for_each_plan(const std::vector<Layer>& layers, Visit visit) {
  std::vector<std::size_t> choice(layers.size(), 0);
  while (true) {
    Plan plan{choice, 0, 0};
    for (std::size_t i = 0; i < layers.size(); ++i) {
      plan.cost += layers[i].options[choice[i]].cost;
      plan.error_sq += layers[i].options[choice[i]].error_sq;
    }
    visit(plan);
    std::size_t at = 0;
    while (at < layers.size() && ++choice[at] == layers[at].options.size()) choice[at++] = 0;
    if (at == layers.size()) return;
  }
}

TEST(RankPlanner, EqualsBruteForce) {
  std::mt19937 engine(7);
  for (int trial = 0; trial < 40; ++trial) {
    const auto layers = random_layers(engine, 5, 4);
    for (const double budget : {10.0, 40.0, 80.0, 120.0}) {
      double least_error = std::numeric_limits<double>::infinity();
      double least_cost = std::numeric_limits<double>::infinity();
      const double error_budget = budget / 40;
      for_each_plan(layers, [&](const Plan& plan) {
        if (plan.cost <= budget) least_error = std::min(least_error, plan.error_sq);
        if (plan.error_sq <= error_budget) least_cost = std::min(least_cost, plan.cost);
      });
      const auto by_cost = plan_under_cost(layers, budget);
      ASSERT_EQ(by_cost.has_value(), std::isfinite(least_error));
      if (by_cost) {
        EXPECT_NEAR(by_cost->error_sq, least_error, 1e-12);
      }
      const auto by_error = plan_under_error(layers, error_budget);
      ASSERT_EQ(by_error.has_value(), std::isfinite(least_cost));
      if (by_error) {
        EXPECT_EQ(by_error->cost, least_cost);
      }
    }
  }
}

TEST(RankPlanner, ChoicesAddUpToTheirPlan) {
  std::mt19937 engine(8);
  const auto layers = random_layers(engine, 20, 6);
  for (const Plan& plan : pareto_front(layers)) {
    double cost = 0;
    double error = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      cost += layers[i].options[plan.choice[i]].cost;
      error += layers[i].options[plan.choice[i]].error_sq;
    }
    EXPECT_NEAR(cost, plan.cost, 1e-9);
    EXPECT_NEAR(error, plan.error_sq, 1e-9);
  }
}

TEST(RankPlanner, ThinnedFrontStaysNearTheBest) {
  std::mt19937 engine(9);
  const auto layers = random_layers(engine, 12, 5);
  const auto exact = pareto_front(layers);
  const auto thinned = pareto_front(layers, 50);
  EXPECT_LE(thinned.size(), 53U);
  EXPECT_EQ(thinned.front().cost, exact.front().cost);
  EXPECT_NEAR(thinned.back().error_sq, exact.back().error_sq, 1e-12);
}

TEST(RankPlanner, KnowsTheExtremes) {
  std::mt19937 engine(10);
  const auto layers = random_layers(engine, 6, 3);
  const auto front = pareto_front(layers);
  EXPECT_EQ(cheapest_plan(layers).cost, front.front().cost);
  EXPECT_NEAR(most_exact_plan(layers).error_sq, front.back().error_sq, 1e-12);
  EXPECT_FALSE(plan_under_cost(layers, front.front().cost - 1));
  EXPECT_THROW(pareto_front(std::vector<Layer>(1)), Error);
}

}  // namespace
}  // namespace psgd::model
