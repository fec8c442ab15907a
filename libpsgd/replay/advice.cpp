#include "libpsgd/replay/advice.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/model/break_even.hpp"
#include "libpsgd/replay/layer_plan.hpp"

namespace psgd::replay {
namespace {

double element_bytes(const SweepResult& sweep) { return static_cast<double>(size_of(sweep.dump.dtype())); }

/// What each bucket sends in a compressed step, in the order that gradients become ready.
std::vector<model::BucketCost> bucket_costs(const SweepResult& sweep, const ConfigurationResult& configuration) {
  const double bytes = element_bytes(sweep);
  const bool squares = compress::hook(configuration.resolved.spec.hook).padding == BucketPadding::square;
  std::map<std::int32_t, model::BucketCost> costs;
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    const ReplayedParameter& parameter = sweep.parameters[i];
    const ParameterSummary& summary = configuration.parameters[i];
    model::BucketCost& cost = costs[parameter.bucket];
    cost.dense_bytes += bytes * static_cast<double>(parameter.numel);
    if (squares) continue;
    if (summary.compressed_steps == 0) {
      cost.uncompressed_bytes += bytes * static_cast<double>(parameter.numel);
    } else {
      cost.p_bytes += bytes * static_cast<double>(parameter.rows * summary.rank);
      cost.q_bytes += bytes * static_cast<double>(parameter.cols * summary.rank);
    }
  }
  double dense = 0;
  for (const auto& [index, cost] : costs) dense += cost.dense_bytes;
  std::vector<model::BucketCost> result;
  for (auto& [index, cost] : costs) {
    if (squares) {
      const auto side = static_cast<double>(square_side(static_cast<std::int64_t>(cost.dense_bytes / bytes)));
      const auto rank = static_cast<double>(configuration.resolved.spec.power_sgd.matrix_approximation_rank);
      cost.p_bytes = cost.q_bytes = bytes * side * rank;
    }
    // The measured time of a step is shared out by size.
    const double seconds = configuration.summary.seconds_per_step;
    if (std::isfinite(seconds) && dense > 0) cost.compress_seconds = seconds * cost.dense_bytes / dense;
    result.push_back(cost);
  }
  return result;
}

bool compresses(const ConfigurationResult& configuration) {
  return std::any_of(configuration.parameters.begin(), configuration.parameters.end(),
                     [](const ParameterSummary& summary) { return summary.compressed_steps > 0; });
}

JudgedConfiguration judge(const SweepResult& sweep, std::size_t index, const AdviceOptions& options) {
  const ConfigurationResult& configuration = sweep.configurations[index];
  const std::vector<model::BucketCost> costs = bucket_costs(sweep, configuration);
  JudgedConfiguration judged;
  judged.index = index;
  judged.relative_error = configuration.summary.relative_error_whole_model.mean;
  for (const model::BucketCost& cost : costs) {
    judged.bytes_per_step += cost.uncompressed_bytes + cost.p_bytes + cost.q_bytes;
    judged.compress_seconds += cost.compress_seconds;
  }
  if (!options.cluster) return judged;
  if (!compresses(configuration)) {
    judged.time = model::dense_step(costs, *options.cluster);
    return judged;
  }
  judged.time = model::power_sgd_step(costs, *options.cluster);
  judged.break_even_bandwidth = model::break_even_bandwidth(costs, *options.cluster);
  judged.break_even_process_ranks = model::break_even_process_ranks(costs, *options.cluster);
  return judged;
}

double cost_of(const JudgedConfiguration& judged) {
  return judged.time ? judged.time->with_overlap : judged.bytes_per_step;
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

/// The configuration of least error among those that gain time (or, without a network, save at least half of the bytes)
/// and keep within the budgets.
std::optional<std::size_t> recommend(const Advice& advice, const AdviceOptions& options, const SweepResult& sweep) {
  std::optional<std::size_t> best;
  double best_error = 0;
  for (const JudgedConfiguration& judged : advice.configurations) {
    if (!judged.on_front || !compresses(sweep.configurations[judged.index])) continue;
    if (options.error_budget && judged.relative_error > *options.error_budget) continue;
    if (options.byte_budget && judged.bytes_per_step > *options.byte_budget) continue;
    const bool gains = judged.time ? judged.time->with_overlap < advice.dense->with_overlap
                                   : judged.bytes_per_step <= advice.dense_bytes / 2;
    if (!gains || (best && judged.relative_error >= best_error)) continue;
    best = judged.index;
    best_error = judged.relative_error;
  }
  return best;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

void explain(Advice& advice, const AdviceOptions& options, const SweepResult& sweep) {
  const std::string dense = advice.dense ? fmt::format(" and {} a step", milliseconds(advice.dense->with_overlap)) : "";
  advice.reasons.push_back(
      fmt::format("uncompressed, a process rank sends {:.4g} MB{}", advice.dense_bytes / 1e6, dense));
  if (!advice.recommended) {
    advice.reasons.emplace_back(
        options.cluster
            ? "no configuration tried is predicted to be faster than sending gradients as they are, within the budgets"
            : "no configuration tried halves the bytes within the budgets");
    return;
  }
  const auto at = std::find_if(advice.configurations.begin(), advice.configurations.end(),
                               [&](const JudgedConfiguration& judged) { return judged.index == *advice.recommended; });
  const std::string& label = sweep.configurations[at->index].label;
  advice.reasons.push_back(fmt::format(
      "{} sends {:.4g} MB ({:.3g} times less) at a whole-model error of {:.3g}, the least among those that gain",
      label.empty() ? "this configuration" : label, at->bytes_per_step / 1e6, advice.dense_bytes / at->bytes_per_step,
      at->relative_error));
  if (at->time) {
    advice.reasons.push_back(fmt::format(
        "its step is predicted at {} with overlap ({} without), compression itself taking {} as measured here",
        milliseconds(at->time->with_overlap), milliseconds(at->time->without_overlap),
        milliseconds(at->time->compression)));
  }
  if (at->break_even_bandwidth && std::isfinite(*at->break_even_bandwidth)) {
    advice.reasons.push_back(fmt::format("without overlap it pays below {:.3g} GB/s", *at->break_even_bandwidth / 1e9));
  }
}

void check(const AdviceOptions& options) {
  if (options.cluster) model::check(options.cluster->network);
  if (options.error_budget && !(*options.error_budget > 0))
    throw Error::usage("--error-budget must be positive, got {}", *options.error_budget);
  if (options.byte_budget && !(*options.byte_budget > 0))
    throw Error::usage("--byte-budget must be positive, got {}", *options.byte_budget);
}

}  // namespace

Advice advise(const SweepResult& sweep, const AdviceOptions& options) {
  check(options);
  if (sweep.configurations.empty())
    throw Error::input("the sweep finished no configuration: there is nothing to advise from");
  Advice advice;
  const std::vector<model::BucketCost> first = bucket_costs(sweep, sweep.configurations.front());
  for (const model::BucketCost& cost : first) advice.dense_bytes += cost.dense_bytes;
  if (options.cluster) advice.dense = model::dense_step(first, *options.cluster);
  for (std::size_t i = 0; i < sweep.configurations.size(); ++i)
    advice.configurations.push_back(judge(sweep, i, options));
  mark_front(advice.configurations);
  advice.recommended = recommend(advice, options, sweep);
  advice.plan = plan_layers(sweep, options);
  explain(advice, options, sweep);
  if (advice.recommended) {
    const compress::PowerSGDOptions& chosen = sweep.configurations[*advice.recommended].resolved.spec.power_sgd;
    advice.pytorch = pytorch_state(chosen);
    advice.epfml = epfml_config(chosen);
  }
  return advice;
}

std::string pytorch_state(const compress::PowerSGDOptions& options) {
  const auto python = [](bool value) { return value ? "True" : "False"; };
  std::string text =
      fmt::format("PowerSGDState(process_group=None, matrix_approximation_rank={}, start_powerSGD_iter={}",
                  options.matrix_approximation_rank, options.start_powerSGD_iter);
  const compress::PowerSGDOptions defaults;
  if (options.min_compression_rate != defaults.min_compression_rate)
    text += fmt::format(", min_compression_rate={}", options.min_compression_rate);
  if (!options.use_error_feedback) text += fmt::format(", use_error_feedback={}", python(options.use_error_feedback));
  if (!options.warm_start) text += fmt::format(", warm_start={}", python(options.warm_start));
  if (options.orthogonalization_epsilon != 0)
    text += fmt::format(", orthogonalization_epsilon={}", options.orthogonalization_epsilon);
  if (options.random_seed != 0) text += fmt::format(", random_seed={}", options.random_seed);
  if (options.batch_tensors_with_same_shape) text += ", batch_tensors_with_same_shape=True";
  return text + ")";
}

std::string epfml_config(const compress::PowerSGDOptions& options) {
  return fmt::format(
      "Config(rank={}, min_compression_rate={}, num_iters_per_step=2, start_compressing_after_num_steps={})",
      options.matrix_approximation_rank, options.min_compression_rate, options.start_powerSGD_iter);
}

}  // namespace psgd::replay
