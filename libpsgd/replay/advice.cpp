#include "libpsgd/replay/advice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/replay/judgement.hpp"
#include "libpsgd/replay/layer_plan.hpp"
#include "libpsgd/replay/paste.hpp"

namespace psgd::replay {
namespace {

bool gains(const JudgedConfiguration& judged, const Advice& advice) {
  return judged.time ? judged.time->with_overlap < advice.dense->with_overlap
                     : judged.bytes_per_step <= advice.dense_bytes / 2;
}

bool keeps_budgets(const JudgedConfiguration& judged, const AdviceOptions& options) {
  if (options.error_budget && !(judged.relative_error <= *options.error_budget)) return false;
  return !options.byte_budget || judged.bytes_per_step <= *options.byte_budget;
}

/// The configuration of least error among those that gain time (or, without a network, save at least half of the bytes)
/// and keep within the budgets.
std::optional<std::size_t> recommend(const Advice& advice, const AdviceOptions& options, const SweepResult& sweep) {
  std::optional<std::size_t> best;
  double best_error = 0;
  for (const JudgedConfiguration& judged : advice.configurations) {
    if (!judged.on_front || !compresses(sweep.configurations[judged.index])) continue;
    if (judged.bytes_per_step == 0) continue;  // rank 0: a model that hears nothing learns nothing
    if (!keeps_budgets(judged, options) || !gains(judged, advice)) continue;
    if (best && judged.relative_error >= best_error) continue;
    best = judged.index;
    best_error = judged.relative_error;
  }
  return best;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

std::string name_of(const SweepResult& sweep, std::size_t index) {
  const std::string& label = sweep.configurations[index].label;
  return label.empty() ? "this configuration" : label;
}

/// Names the configuration that comes nearest to a budget that none keeps.
void explain_budgets(Advice& advice, const AdviceOptions& options, const SweepResult& sweep) {
  const auto nearest = [&](double JudgedConfiguration::*value) {
    const auto known = [&](const JudgedConfiguration& judged) {
      return std::isfinite(judged.*value) ? judged.*value : std::numeric_limits<double>::infinity();
    };
    return std::min_element(
        advice.configurations.begin(), advice.configurations.end(),
        [&](const JudgedConfiguration& a, const JudgedConfiguration& b) { return known(a) < known(b); });
  };
  if (options.byte_budget) {
    const auto least = nearest(&JudgedConfiguration::bytes_per_step);
    if (least->bytes_per_step > *options.byte_budget)
      advice.reasons.push_back(
          fmt::format("no configuration tried sends at most {:.4g} bytes; the nearest is {} with {:.4g}",
                      *options.byte_budget, name_of(sweep, least->index), least->bytes_per_step));
  }
  if (options.error_budget) {
    const auto least = nearest(&JudgedConfiguration::relative_error);
    if (!(least->relative_error <= *options.error_budget))
      advice.reasons.push_back(
          fmt::format("no configuration tried leaves an error of at most {:.4g}; the nearest is {} with {:.4g}",
                      *options.error_budget, name_of(sweep, least->index), least->relative_error));
  }
}

/// Names the configurations whose rank is too high for every shape.
void explain_idle(Advice& advice, const SweepResult& sweep) {
  for (const ConfigurationResult& configuration : sweep.configurations) {
    const ReplaySpec& spec = configuration.resolved.spec;
    const compress::HookEntry& hook = compress::hook(spec.hook);
    const bool low_rank = hook.padding == BucketPadding::none && (hook.has_power_sgd_state || hook.knobs.threshold);
    if (!low_rank || compresses(configuration)) continue;
    advice.reasons.push_back(
        fmt::format("{} compresses nothing: at rank {} and min_compression_rate {} no parameter would become small "
                    "enough, or the start "
                    "is never reached",
                    configuration.label.empty() ? "this configuration" : configuration.label,
                    spec.power_sgd.matrix_approximation_rank, spec.power_sgd.min_compression_rate));
  }
}

std::string ranks_text(const model::ProcessRankRange& range) {
  return range.last ? fmt::format("{} to {} process ranks", range.first, *range.last)
                    : fmt::format("{} process ranks and more", range.first);
}

void explain_break_even(Advice& advice, const JudgedConfiguration& judged) {
  if (judged.break_even_bandwidth && std::isfinite(*judged.break_even_bandwidth)) {
    advice.reasons.push_back(fmt::format("without overlap it pays on links below {:.3g} GB/s among {} process ranks{}",
                                         *judged.break_even_bandwidth / 1e9, advice.cluster.process_ranks,
                                         advice.has_network ? "" : ", latency aside"));
  }
  if (judged.break_even_process_ranks)
    advice.reasons.push_back("on this network it pays, without overlap, with " +
                             ranks_text(*judged.break_even_process_ranks));
}

void explain(Advice& advice, const AdviceOptions& options, const SweepResult& sweep) {
  const std::string dense =
      advice.dense ? fmt::format(" and a step is predicted at {} with overlap ({} without)",
                                 milliseconds(advice.dense->with_overlap), milliseconds(advice.dense->without_overlap))
                   : "";
  advice.reasons.push_back(
      fmt::format("uncompressed, a process rank sends {:.4g} MB{}", advice.dense_bytes / 1e6, dense));
  for (const std::size_t parameter : advice.not_finite)
    advice.reasons.push_back(
        fmt::format("{} holds NaN or infinity: errors of the whole model leave it out in those steps, and no rank is "
                    "planned for it",
                    sweep.parameters[parameter].name));
  explain_idle(advice, sweep);
  explain_budgets(advice, options, sweep);
  if (!advice.recommended) {
    advice.reasons.emplace_back(
        options.cluster
            ? "no configuration tried is predicted to be faster than sending gradients as they are, within the budgets"
            : "no configuration tried halves the bytes within the budgets");
    return;
  }
  const JudgedConfiguration& chosen = advice.configurations[*advice.recommended];
  advice.reasons.push_back(fmt::format(
      "{} sends {:.4g} MB ({:.3g} times less) at a whole-model error of {:.3g}, the least among those that {}",
      name_of(sweep, chosen.index), chosen.bytes_per_step / 1e6, advice.dense_bytes / chosen.bytes_per_step,
      chosen.relative_error, options.cluster ? "are faster than sending all" : "halve the bytes"));
  if (chosen.time) {
    advice.reasons.push_back(
        fmt::format("its step is predicted at {} with overlap ({} without), compression itself taking {}{}",
                    milliseconds(chosen.time->with_overlap), milliseconds(chosen.time->without_overlap),
                    milliseconds(chosen.time->compression),
                    options.compression_scale == 1
                        ? " as measured here"
                        : fmt::format(", {:.3g} times what was measured here", options.compression_scale)));
  }
  explain_break_even(advice, chosen);
}

void check(const AdviceOptions& options) {
  if (options.cluster) model::check(options.cluster->network);
  if (!(options.compression_scale >= 0) || !std::isfinite(options.compression_scale))
    throw Error::usage("--compression-scale must be at least 0, got {}", options.compression_scale);
  if (options.error_budget && !(*options.error_budget > 0))
    throw Error::usage("--error-budget must be positive, got {}", *options.error_budget);
  if (options.byte_budget && !(*options.byte_budget > 0))
    throw Error::usage("--byte-budget must be positive, got {}", *options.byte_budget);
}

/// Parameters that are NaN or infinite in any configuration.
std::vector<std::size_t> not_finite(const SweepResult& sweep) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < sweep.parameters.size(); ++i) {
    if (std::any_of(sweep.configurations.begin(), sweep.configurations.end(),
                    [&](const ConfigurationResult& one) { return one.parameters[i].non_finite_gradients > 0; }))
      result.push_back(i);
  }
  return result;
}

}  // namespace

Advice advise(const SweepResult& sweep, const AdviceOptions& options) {
  check(options);
  if (sweep.configurations.empty())
    throw Error::input("the sweep finished no configuration: there is nothing to advise from");
  Advice advice;
  advice.cluster = cluster_of(sweep, options);
  advice.has_network = options.cluster.has_value();
  advice.network = options.network;
  const std::vector<model::BucketCost>& first = sweep.configurations.front().buckets;
  for (const model::BucketCost& cost : first) advice.dense_bytes += cost.dense_bytes;
  if (options.cluster) advice.dense = model::dense_step(first, advice.cluster);
  for (std::size_t i = 0; i < sweep.configurations.size(); ++i)
    advice.configurations.push_back(judge(sweep, i, options));
  mark_front(advice.configurations);
  advice.not_finite = not_finite(sweep);
  advice.recommended = recommend(advice, options, sweep);
  advice.plan = plan_layers(sweep, options);
  explain(advice, options, sweep);
  if (advice.recommended) {
    const ReplaySpec& chosen = sweep.configurations[*advice.recommended].resolved.spec;
    advice.pytorch = pytorch_lines(chosen);
    advice.epfml = epfml_lines(chosen);
  }
  return advice;
}

}  // namespace psgd::replay
