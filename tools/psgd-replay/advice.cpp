#include "tools/psgd-replay/advice.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

#include "libpsgd/metrics/target_relative_error.hpp"

namespace psgd::tools::replay {
namespace {

using metrics::HazardKind;
using psgd::replay::ReplayResult;

// Round numbers for a hint, not limits of the method.
constexpr double large_loss = 0.7;
constexpr double small_loss = 0.2;

bool has_hazard(const ReplayResult& result, std::initializer_list<HazardKind> kinds) {
  return std::any_of(result.summary.hazards.begin(), result.summary.hazards.end(), [&](const metrics::Hazard& hazard) {
    return std::find(kinds.begin(), kinds.end(), hazard.kind) != kinds.end();
  });
}

bool compresses(const ReplayResult& result) {
  return std::any_of(result.records.begin(), result.records.end(),
                     [](const auto& record) { return record.compressed; });
}

void advise_on_start(const ReplayResult& result, std::vector<std::string>& advice) {
  const auto& power_sgd = result.resolved.spec.power_sgd;
  if (has_hazard(result, {HazardKind::start_never_reached})) {
    advice.push_back(fmt::format("no step was compressed: --start-powerSGD-iter {} is not reached in {} replayed steps",
                                 power_sgd.start_powerSGD_iter, result.steps.size()));
  } else if (!compresses(result) && result.resolved.spec.hook != "none" && !result.records.empty()) {
    advice.push_back(
        fmt::format("nothing was compressed: lower --min-compression-rate {} or the rank {}; psgd-inspect shows "
                    "what each rank would compress",
                    power_sgd.min_compression_rate, power_sgd.matrix_approximation_rank));
  }
}

void advise_on_factors(const ReplayResult& result, std::vector<std::string>& advice) {
  const bool degenerate = has_hazard(result, {HazardKind::zero_column, HazardKind::parallel_columns,
                                              HazardKind::lost_orthogonality, HazardKind::non_finite_output});
  if (!degenerate || has_hazard(result, {HazardKind::non_finite_input})) return;
  if (result.resolved.spec.hook == "original") return;
  if (result.resolved.spec.orthogonalization != "householder") {
    advice.emplace_back(
        "factors are degenerate: compare with --orthogonalization householder, which Gram-Schmidt's failures do "
        "not touch, or with a smaller rank");
  }
}

/// What one step loses of its own target, over all compressed tensors.
double mean_loss(const ReplayResult& result) {
  double sum = 0;
  std::int64_t count = 0;
  for (const auto& record : result.records) {
    const double lost = record.compressed ? metrics::target_relative_error(record.measurement) : std::nan("");
    if (!std::isfinite(lost)) continue;
    sum += lost;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : std::nan("");
}

void advise_on_rank(const ReplayResult& result, std::vector<std::string>& advice) {
  const double lost = mean_loss(result);
  const std::int64_t rank = result.resolved.spec.power_sgd.matrix_approximation_rank;
  if (!std::isfinite(lost) || rank == 0) return;
  if (lost > large_loss) {
    advice.push_back(fmt::format("a step loses {:.0f}% of compressed tensors (their norm): -r {} would keep more",
                                 100 * lost, 2 * rank));
  } else if (lost < small_loss && rank > 1) {
    advice.push_back(fmt::format("a step loses only {:.0f}% of compressed tensors (their norm): -r {} would send less",
                                 100 * lost, (rank + 1) / 2));
  }
}

}  // namespace

std::vector<std::string> advise(const ReplayResult& result) {
  std::vector<std::string> advice;
  advise_on_start(result, advice);
  advise_on_factors(result, advice);
  advise_on_rank(result, advice);
  if (has_hazard(result, {HazardKind::step_gaps})) {
    advice.emplace_back("for steps with gaps turn the memory off: --use-error-feedback off --warm-start off");
  }
  advice.emplace_back("every step's numbers: --json FILE or --csv FILE");
  return advice;
}

}  // namespace psgd::tools::replay
