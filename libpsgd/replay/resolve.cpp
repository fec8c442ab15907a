#include "libpsgd/replay/resolve.hpp"

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/sparse.hpp"
#include "libpsgd/orthogonalize/method.hpp"

namespace psgd::replay {
namespace {

Error state_differs(const ReplaySpec& spec, std::string_view what, std::string_view saved, std::string_view wanted) {
  return Error::input("{}: {} differs: the state was saved with {}, this replay has {}", spec.state_in->string(), what,
                      saved, wanted);
}

/// A parameter that was not asked for comes from the state; one that was has to agree with it.
template <class Value>
void adopt(const ReplaySpec& spec, std::string_view name, const Value& saved, Value& value) {
  if (saved == value) return;
  if (spec.given.contains(name)) throw state_differs(spec, name, fmt::format("{}", saved), fmt::format("{}", value));
  value = saved;
}

void adopt_parameters(const ReplaySpec& spec, const compress::PowerSGDOptions& saved,
                      compress::PowerSGDOptions& options) {
  adopt(spec, "matrix_approximation_rank", saved.matrix_approximation_rank, options.matrix_approximation_rank);
  adopt(spec, "start_powerSGD_iter", saved.start_powerSGD_iter, options.start_powerSGD_iter);
  adopt(spec, "min_compression_rate", saved.min_compression_rate, options.min_compression_rate);
  adopt(spec, "use_error_feedback", saved.use_error_feedback, options.use_error_feedback);
  adopt(spec, "warm_start", saved.warm_start, options.warm_start);
  adopt(spec, "orthogonalization_epsilon", saved.orthogonalization_epsilon, options.orthogonalization_epsilon);
  adopt(spec, "random_seed", saved.random_seed, options.random_seed);
  adopt(spec, "compression_stats_logging_frequency", saved.compression_stats_logging_frequency,
        options.compression_stats_logging_frequency);
  adopt(spec, "batch_tensors_with_same_shape", saved.batch_tensors_with_same_shape,
        options.batch_tensors_with_same_shape);
}

/// Whether one member can stand for all process ranks, their residual norms included.
bool fits_fused(const ReplaySpec& spec) {
  const compress::HookEntry& hook = compress::hook(spec.hook);
  return hook.linear && !(hook.local_residual && spec.power_sgd.use_error_feedback);
}

}  // namespace

void check_spec(const ReplaySpec& spec) {
  if (spec.files.empty()) throw Error::usage("no dump was named");
  const compress::HookEntry& hook = compress::hook(spec.hook);
  if (spec.orthogonalization != "auto") orthogonalize::method(spec.orthogonalization);
  if (hook.knobs.fraction) compress::check_fraction(spec.baseline.fraction);
  if (spec.residual == compress::Residual::local && spec.arithmetic == Arithmetic::fused) {
    throw Error::usage("--residual local needs --arithmetic per-rank: local residuals are not sums over process ranks");
  }
  if (!fits_fused(spec) && spec.arithmetic == Arithmetic::fused) {
    throw Error::usage("--hook {} needs --arithmetic per-rank: {}", hook.name,
                       hook.linear ? "its error memories are not sums over process ranks"
                                   : "what it sends is not a sum over process ranks");
  }
  if (spec.dtype && *spec.dtype != DType::float32 && *spec.dtype != DType::float64) {
    throw Error::usage("--dtype {}: a replay computes in float32 or float64", to_string(*spec.dtype));
  }
  if ((spec.state_in || spec.state_out) && !hook.has_power_sgd_state) {
    throw Error::usage("--hook {} keeps no state: --state-in and --state-out have no meaning with it", hook.name);
  }
  if (spec.steps && spec.steps->first > spec.steps->second) {
    throw Error::usage("--steps {}:{}: the first lies behind the last", spec.steps->first, spec.steps->second);
  }
}

ResolvedSpec resolve(const ReplaySpec& spec, const dump::Description& dump, const std::optional<StateHeader>& state) {
  ResolvedSpec resolved;
  resolved.spec = spec;
  const bool by_itself = spec.residual == compress::Residual::local || !fits_fused(spec);
  resolved.arithmetic = spec.arithmetic.value_or(by_itself ? Arithmetic::per_rank : Arithmetic::fused);
  resolved.dtype = spec.dtype.value_or(dump.dtype() == DType::float64 ? DType::float64 : DType::float32);
  if (!state) return resolved;
  if (state->hook != spec.hook) throw state_differs(spec, "hook", state->hook, spec.hook);
  if (state->arithmetic != resolved.arithmetic) {
    throw state_differs(spec, "arithmetic", to_string(state->arithmetic), to_string(resolved.arithmetic));
  }
  if (state->residual != spec.residual)
    throw state_differs(spec, "residual", to_string(state->residual), to_string(spec.residual));
  if (state->dtype != resolved.dtype)
    throw state_differs(spec, "dtype", to_string(state->dtype), to_string(resolved.dtype));
  adopt_parameters(spec, state->power_sgd, resolved.spec.power_sgd);
  return resolved;
}

compress::HookOptions hook_options(const ReplaySpec& spec) {
  compress::HookOptions options;
  options.power_sgd = spec.power_sgd;
  options.baseline = spec.baseline;
  if (spec.orthogonalization != "auto") options.orthogonalization = &orthogonalize::method(spec.orthogonalization);
  options.residual = spec.residual;
  options.draw_in_compute_dtype = spec.draw_in_compute_dtype;
  return options;
}

void check_world_size(const ReplaySpec& spec, const StateHeader& state, const Selection& selection) {
  const auto world_size = static_cast<std::int64_t>(selection.process_ranks.size());
  if (state.world_size != world_size) {
    throw state_differs(spec, "world_size", std::to_string(state.world_size), std::to_string(world_size));
  }
  if (!state.process_ranks.empty() && state.process_ranks != selection.process_ranks) {
    throw state_differs(spec, "process_ranks", fmt::format("{}", fmt::join(state.process_ranks, ",")),
                        fmt::format("{}", fmt::join(selection.process_ranks, ",")));
  }
}

}  // namespace psgd::replay
