#include <algorithm>

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
  if (hook.has_power_sgd_state) return;
  const compress::PowerSGDOptions given = spec.power_sgd;
  spec.power_sgd = {};
  spec.orthogonalization = "auto";
  spec.residual = compress::Residual::averaged;
  if (hook.name == "none") return;
  spec.power_sgd.matrix_approximation_rank = given.matrix_approximation_rank;
  spec.power_sgd.random_seed = given.random_seed;
}

bool same_configuration(const ReplaySpec& a, const ReplaySpec& b) {
  return a.hook == b.hook && a.power_sgd == b.power_sgd && a.orthogonalization == b.orthogonalization &&
         a.residual == b.residual && a.arithmetic == b.arithmetic && a.dtype == b.dtype;
}

/// The knobs of a configuration, as labels name them.
std::vector<std::pair<std::string, std::string>> knobs(const ReplaySpec& spec) {
  const compress::PowerSGDOptions& options = spec.power_sgd;
  const auto on = [](bool value) { return std::string(value ? "on" : "off"); };
  return {{"hook", spec.hook},
          {"r", std::to_string(options.matrix_approximation_rank)},
          {"start", std::to_string(options.start_powerSGD_iter)},
          {"rate", fmt::format("{}", options.min_compression_rate)},
          {"feedback", on(options.use_error_feedback)},
          {"warm", on(options.warm_start)},
          {"batch", on(options.batch_tensors_with_same_shape)},
          {"epsilon", fmt::format("{}", options.orthogonalization_epsilon)},
          {"seed", std::to_string(options.random_seed)},
          {"orthogonalization", spec.orthogonalization},
          {"residual", std::string(to_string(spec.residual))},
          {"arithmetic", spec.arithmetic ? std::string(to_string(*spec.arithmetic)) : "default"},
          {"dtype", spec.dtype ? std::string(to_string(*spec.dtype)) : "default"}};
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
  multiply(specs, grid.orthogonalization, "orthogonalization",
           [](ReplaySpec& spec, const std::string& value) { spec.orthogonalization = value; });
  multiply(specs, grid.residual, "residual", [](ReplaySpec& spec, compress::Residual value) { spec.residual = value; });
  multiply(specs, grid.arithmetic, "arithmetic", [](ReplaySpec& spec, Arithmetic value) { spec.arithmetic = value; });
  multiply(specs, grid.dtype, "dtype", [](ReplaySpec& spec, DType value) { spec.dtype = value; });

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
  std::vector<std::vector<std::pair<std::string, std::string>>> all;
  all.reserve(configurations.size());
  for (const ReplaySpec& spec : configurations) all.push_back(knobs(spec));
  std::vector<std::string> result(configurations.size());
  if (all.empty()) return result;
  for (std::size_t knob = 0; knob < all.front().size(); ++knob) {
    const auto differs = [&](const auto& other) { return other[knob].second != all.front()[knob].second; };
    if (std::none_of(all.begin(), all.end(), differs)) continue;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!result[i].empty()) result[i] += ' ';
      result[i] += knob == 0 ? all[i][knob].second : all[i][knob].first + "=" + all[i][knob].second;
    }
  }
  return result;
}

}  // namespace psgd::replay
