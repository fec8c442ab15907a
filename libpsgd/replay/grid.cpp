#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/base/error.hpp"
#include "libpsgd/replay/resolve.hpp"
#include "libpsgd/replay/sweep.hpp"

namespace psgd::replay {
namespace {

using Specs = std::vector<ReplaySpec>;

template <class Values>
void check_distinct(const Values& values, std::string_view knob) {
  for (auto at = values.begin(); at != values.end(); ++at) {
    if (std::find(values.begin(), at, *at) != at) throw Error::usage("the grid names a value of {} twice", knob);
  }
}

/// Replaces every spec by one for each value.
template <class Values, class Set>
void multiply(Specs& specs, const Values& values, std::string_view knob, Set set) {
  if (values.empty()) return;
  check_distinct(values, knob);
  Specs product;
  product.reserve(specs.size() * values.size());
  for (const ReplaySpec& spec : specs) {
    for (const auto& value : values) {
      product.push_back(spec);
      set(product.back(), value);
    }
  }
  specs = std::move(product);
}

/// Resets what the hook does not know, so that configurations which would do the same compare equal.
void canonicalize(ReplaySpec& spec) {
  const compress::HookEntry& hook = compress::hook(spec.hook);
  const compress::HookKnobs& knobs = hook.knobs;
  const compress::BaselineOptions baseline = spec.baseline;
  spec.baseline = {};
  if (knobs.fraction) spec.baseline.fraction = baseline.fraction;
  if (knobs.quantization) {
    spec.baseline.quantization_bits = baseline.quantization_bits;
    spec.baseline.quantization_chunk = baseline.quantization_chunk;
  }
  if (hook.has_power_sgd_state) return;
  const compress::PowerSGDOptions given = spec.power_sgd;
  spec.power_sgd = {};
  spec.orthogonalization = "auto";
  spec.residual = compress::Residual::averaged;
  if (knobs.rank) spec.power_sgd.matrix_approximation_rank = given.matrix_approximation_rank;
  if (knobs.threshold) spec.power_sgd.min_compression_rate = given.min_compression_rate;
  if (knobs.start) spec.power_sgd.start_powerSGD_iter = given.start_powerSGD_iter;
  if (knobs.error_feedback) spec.power_sgd.use_error_feedback = given.use_error_feedback;
  if (knobs.seed) spec.power_sgd.random_seed = given.random_seed;
}

/// A list for a knob that none of the grid's hooks knows would do nothing.
void check_used(const Specs& specs, const Grid& grid) {
  const auto check = [&](bool given, bool compress::HookKnobs::*knob, std::string_view name, std::string_view hooks) {
    const auto knows = [&](const ReplaySpec& spec) { return compress::hook(spec.hook).knobs.*knob; };
    if (given && std::none_of(specs.begin(), specs.end(), knows))
      throw Error::usage("--{} has no meaning without --hook {}", name, hooks);
  };
  check(!grid.fraction.empty(), &compress::HookKnobs::fraction, "fraction", "top-k or random-k");
  check(!grid.quantization_bits.empty(), &compress::HookKnobs::quantization, "quantization-bits", "qsgd");
  check(!grid.quantization_chunk.empty(), &compress::HookKnobs::quantization, "quantization-chunk", "qsgd");
}

bool same_configuration(const ReplaySpec& a, const ReplaySpec& b) {
  return a.hook == b.hook && a.power_sgd == b.power_sgd && a.orthogonalization == b.orthogonalization &&
         a.residual == b.residual && a.arithmetic == b.arithmetic && a.dtype == b.dtype && a.baseline == b.baseline;
}

/// A knob of a configuration, as labels name it. One that the hook does not know has no value.
struct Knob {
  std::string_view name;
  std::optional<std::string> value;
};

std::vector<Knob> knobs(const ReplaySpec& spec) {
  const compress::PowerSGDOptions& options = spec.power_sgd;
  const compress::HookEntry& hook = compress::hook(spec.hook);
  const bool all = hook.has_power_sgd_state;
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  const auto on = [](bool value) { return std::string(value ? "on" : "off"); };
  const auto known = [](bool knows, std::string value) {
    return knows ? std::optional<std::string>(std::move(value)) : std::nullopt;
  };
  return {{"hook", spec.hook},
          {"r", known(all || hook.knobs.rank, text(options.matrix_approximation_rank))},
          {"start", known(all || hook.knobs.start, text(options.start_powerSGD_iter))},
          {"rate", known(all || hook.knobs.threshold, text(options.min_compression_rate))},
          {"feedback", known(all || hook.knobs.error_feedback, on(options.use_error_feedback))},
          {"warm", known(all, on(options.warm_start))},
          {"batch", known(all, on(options.batch_tensors_with_same_shape))},
          {"epsilon", known(all, text(options.orthogonalization_epsilon))},
          {"seed", known(all || hook.knobs.seed, text(options.random_seed))},
          {"fraction", known(hook.knobs.fraction, text(spec.baseline.fraction))},
          {"bits", known(hook.knobs.quantization, text(spec.baseline.quantization_bits))},
          {"chunk", known(hook.knobs.quantization, text(spec.baseline.quantization_chunk))},
          {"orthogonalization", known(all, spec.orthogonalization)},
          {"residual", known(all, std::string(to_string(spec.residual)))},
          {"arithmetic", spec.arithmetic ? std::string(to_string(*spec.arithmetic)) : "default"},
          {"dtype", spec.dtype ? std::string(to_string(*spec.dtype)) : "default"}};
}

/// Whether configurations that know a knob set it to different values.
bool differs(const std::vector<std::vector<Knob>>& all, std::size_t knob) {
  const std::optional<std::string>* first = nullptr;
  for (const std::vector<Knob>& one : all) {
    if (!one[knob].value) continue;
    if (first == nullptr) first = &one[knob].value;
    if (*first != one[knob].value) return true;
  }
  return false;
}

}  // namespace

std::vector<ReplaySpec> expand(const ReplaySpec& base, const Grid& grid) {
  Specs specs{base};
  const auto option = [](auto member) {
    return [member](ReplaySpec& spec, auto value) { spec.power_sgd.*member = value; };
  };
  using Options = compress::PowerSGDOptions;
  multiply(specs, grid.hook, "hook", [](ReplaySpec& spec, const std::string& value) { spec.hook = value; });
  multiply(specs, grid.matrix_approximation_rank, "matrix_approximation_rank",
           option(&Options::matrix_approximation_rank));
  multiply(specs, grid.start_powerSGD_iter, "start_powerSGD_iter", option(&Options::start_powerSGD_iter));
  multiply(specs, grid.min_compression_rate, "min_compression_rate", option(&Options::min_compression_rate));
  multiply(specs, grid.use_error_feedback, "use_error_feedback", option(&Options::use_error_feedback));
  multiply(specs, grid.warm_start, "warm_start", option(&Options::warm_start));
  multiply(specs, grid.batch_tensors_with_same_shape, "batch_tensors_with_same_shape",
           option(&Options::batch_tensors_with_same_shape));
  multiply(specs, grid.orthogonalization_epsilon, "orthogonalization_epsilon",
           option(&Options::orthogonalization_epsilon));
  multiply(specs, grid.random_seed, "random_seed", option(&Options::random_seed));
  multiply(specs, grid.fraction, "fraction", [](ReplaySpec& spec, double value) { spec.baseline.fraction = value; });
  multiply(specs, grid.quantization_bits, "quantization_bits",
           [](ReplaySpec& spec, int value) { spec.baseline.quantization_bits = value; });
  multiply(specs, grid.quantization_chunk, "quantization_chunk",
           [](ReplaySpec& spec, std::int64_t value) { spec.baseline.quantization_chunk = value; });
  multiply(specs, grid.orthogonalization, "orthogonalization",
           [](ReplaySpec& spec, const std::string& value) { spec.orthogonalization = value; });
  multiply(specs, grid.residual, "residual", [](ReplaySpec& spec, compress::Residual value) { spec.residual = value; });
  multiply(specs, grid.arithmetic, "arithmetic", [](ReplaySpec& spec, Arithmetic value) { spec.arithmetic = value; });
  multiply(specs, grid.dtype, "dtype", [](ReplaySpec& spec, DType value) { spec.dtype = value; });

  check_used(specs, grid);
  Specs distinct;
  for (ReplaySpec& spec : specs) {
    canonicalize(spec);
    const auto same = [&](const ReplaySpec& known) { return same_configuration(known, spec); };
    if (std::none_of(distinct.begin(), distinct.end(), same)) distinct.push_back(std::move(spec));
  }
  const std::vector<std::string> names = labels(distinct);
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    try {
      check_spec(distinct[i]);
      if (compress::hook(distinct[i].hook).has_power_sgd_state) compress::validate(distinct[i].power_sgd);
    } catch (const Error& error) {
      if (names[i].empty()) throw;
      throw Error(error.kind(), fmt::format("configuration {}: {}", names[i], error.what()));
    }
  }
  return distinct;
}

std::vector<std::string> labels(const std::vector<ReplaySpec>& configurations) {
  std::vector<std::vector<Knob>> all;
  all.reserve(configurations.size());
  for (const ReplaySpec& spec : configurations) all.push_back(knobs(spec));
  std::vector<std::string> result(configurations.size());
  if (all.empty()) return result;
  for (std::size_t knob = 0; knob < all.front().size(); ++knob) {
    if (!differs(all, knob)) continue;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i][knob].value) continue;
      if (!result[i].empty()) result[i] += ' ';
      if (knob > 0) result[i] += fmt::format("{}=", all[i][knob].name);
      result[i] += *all[i][knob].value;
    }
  }
  return result;
}

}  // namespace psgd::replay
