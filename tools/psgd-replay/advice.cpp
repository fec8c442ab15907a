#include "tools/psgd-replay/advice.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

namespace psgd::tools::replay {
namespace {

using metrics::HazardKind;
using psgd::replay::ReplayResult;

// Above this the output has little in common with the gradient; below the other a smaller rank may do. Round numbers
// for a hint, not limits of the method.
constexpr double large_error = 0.7;
constexpr double small_error = 0.2;

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

void advise_on_error(const ReplayResult& result, std::vector<std::string>& advice) {
  const double error = result.summary.relative_error.mean;
  const std::int64_t rank = result.resolved.spec.power_sgd.matrix_approximation_rank;
  if (!std::isfinite(error) || rank == 0) return;
  if (error > large_error) {
    advice.push_back(
        fmt::format("compressed tensors keep little of the gradient (mean error {:.2f}): try -r {}", error, 2 * rank));
  } else if (error < small_error && rank > 1) {
    advice.push_back(fmt::format("the error is small (mean {:.2f}): -r {} would send less", error, (rank + 1) / 2));
  }
}

}  // namespace

std::vector<std::string> advise(const ReplayResult& result) {
  std::vector<std::string> advice;
  advise_on_start(result, advice);
  advise_on_factors(result, advice);
  advise_on_error(result, advice);
  if (has_hazard(result, {HazardKind::step_gaps})) {
    advice.emplace_back("for steps with gaps turn the memory off: --use-error-feedback off --warm-start off");
  }
  advice.emplace_back("every step's numbers: --json FILE or --csv FILE");
  return advice;
}

}  // namespace psgd::tools::replay
