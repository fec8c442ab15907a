#include "libpsgd/replay/selection.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"

namespace psgd::replay {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

void check_patterns(const dump::Description& dump, const std::vector<std::string>& patterns, std::string_view option) {
  for (const std::string& pattern : patterns) {
    const bool used = std::any_of(dump.parameters.begin(), dump.parameters.end(),
                                  [&](const Parameter& parameter) { return matches(pattern, parameter.name); });
    if (!used)
      throw Error::usage("{}: \"{}\" matches no parameter of {}", option, pattern, dump.files.front().string());
  }
}

std::vector<std::size_t> select_parameters(const dump::Description& dump, const ReplaySpec& spec) {
  check_patterns(dump, spec.parameters, "--parameters");
  check_patterns(dump, spec.exclude, "--exclude");
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < dump.parameters.size(); ++i) {
    const std::string& name = dump.parameters[i].name;
    if (!spec.parameters.empty() && !matches_any(spec.parameters, name)) continue;
    if (!matches_any(spec.exclude, name)) chosen.push_back(i);
  }
  if (chosen.empty())
    throw Error::usage("--parameters and --exclude leave no parameter of {}", dump.files.front().string());
  return chosen;
}

std::vector<std::size_t> select_steps(const dump::Description& dump, const ReplaySpec& spec) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < dump.steps.size(); ++i) {
    const std::int64_t step = dump.steps[i];
    if (!spec.steps || (step >= spec.steps->first && step <= spec.steps->second)) chosen.push_back(i);
  }
  if (!chosen.empty()) return chosen;
  if (dump.steps.empty()) throw Error::input("{}: no step was recorded", dump.files.front().string());
  const auto [first, last] = *spec.steps;
  using Limits = std::numeric_limits<std::int64_t>;
  throw Error::input("{}: no recorded step lies in --steps {}:{} (the dump holds {} to {})",
                     dump.files.front().string(), first == Limits::min() ? "" : std::to_string(first),
                     last == Limits::max() ? "" : std::to_string(last), dump.steps.front(), dump.steps.back());
}

std::vector<std::int64_t> select_process_ranks(const dump::Description& dump, const ReplaySpec& spec) {
  if (!spec.process_ranks) {
    if (const auto missing = missing_process_ranks(dump); !missing.empty()) {
      throw Error::input(
          "{}: process ranks {} of {} are missing; give their files too, or choose with --process-ranks {}",
          dump.files.front().string(), fmt::join(missing, ","), dump.world_size, fmt::join(dump.process_ranks, ","));
    }
    return dump.process_ranks;
  }
  const std::vector<std::int64_t>& chosen = *spec.process_ranks;
  if (chosen.empty()) throw Error::usage("--process-ranks names none");
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (std::find(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(i), chosen[i]) !=
        chosen.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw Error::usage("--process-ranks names {} twice", chosen[i]);
    }
    if (std::find(dump.process_ranks.begin(), dump.process_ranks.end(), chosen[i]) == dump.process_ranks.end()) {
      throw Error::input("{}: process rank {} was not recorded (there are {})", dump.files.front().string(), chosen[i],
                         fmt::join(dump.process_ranks, ","));
    }
  }
  return chosen;
}

void check_matrices(const dump::Description& dump, const std::vector<std::size_t>& parameters,
                    const compress::HookEntry& hook) {
  if (!hook.needs_matrices) return;
  for (const std::size_t i : parameters) {
    const std::string& name = dump.parameters[i].name;
    if (dump.parameters[i].shape.empty()) {
      throw Error::input(
          "{}: parameter \"{}\" is 0-dimensional: PyTorch's powerSGD_hook fails on it; leave it out with --exclude "
          "'{}'",
          dump.files.front().string(), name, name);
    }
  }
}

}  // namespace

std::vector<std::int64_t> missing_process_ranks(const dump::Description& dump) {
  // A damaged file can claim any world size, so only as many as are named are collected.
  constexpr std::size_t most = 16;
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < dump.world_size && missing.size() < most; ++rank) {
    if (!std::binary_search(dump.process_ranks.begin(), dump.process_ranks.end(), rank)) missing.push_back(rank);
  }
  return missing;
}

Selection select(const dump::Description& dump, const ReplaySpec& spec, const compress::HookEntry& hook) {
  Selection selection;
  selection.step_indices = select_steps(dump, spec);
  selection.process_ranks = select_process_ranks(dump, spec);
  selection.parameters = select_parameters(dump, spec);
  check_matrices(dump, selection.parameters, hook);
  selection.layout = layout_gradients(dump.parameters, selection.parameters, hook.padding);
  return selection;
}

}  // namespace psgd::replay
