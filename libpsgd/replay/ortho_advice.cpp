#include "libpsgd/replay/ortho_advice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "libpsgd/replay/ortho_inputs.hpp"
#include "libpsgd/report/quantity.hpp"

namespace psgd::replay {
namespace {

constexpr std::string_view gram_schmidt = "gram-schmidt";
constexpr std::string_view householder = "householder";

/// PyTorch's rule in full precision.
std::string_view pytorch_method(std::int64_t cols) { return cols <= 2 ? gram_schmidt : householder; }

bool is_replayed(const OrthoRecord& record) { return record.input == replay_p || record.input == replay_q; }

/// Batches whose times say what a job would see.
bool is_usual(const OrthoRecord& record) { return record.input == "random" || is_replayed(record); }

double tolerance_of(const OrthoSpec& spec, const OrthoRecord& record) {
  return spec.tolerance > 0 ? spec.tolerance : default_tolerance(record.dtype);
}

/// What became of one method.
struct Candidate {
  std::string method;
  double seconds = 0;
  const OrthoRecord* worst = nullptr;  ///< the record farthest beyond the tolerance; null: there is none
  double excess = 0;                   ///< its ‖QᵀQ − I‖ in tolerances
};

std::vector<Candidate> candidates(const OrthoSpec& spec, const OrthoResult& result) {
  const bool any_usual = std::any_of(result.records.begin(), result.records.end(), is_usual);
  std::vector<Candidate> list;
  for (const OrthoRecord& record : result.records) {
    auto found = std::find_if(list.begin(), list.end(),
                              [&](const Candidate& candidate) { return candidate.method == record.method; });
    if (found == list.end()) found = list.insert(list.end(), Candidate{record.method});
    if (!any_usual || is_usual(record)) found->seconds += record.seconds;
    const double excess = record.orthogonality / tolerance_of(spec, record);
    if (excess <= 1) continue;
    const bool worse = found->worst == nullptr || std::isnan(excess) || excess > found->excess;
    if (!worse || std::isnan(found->excess)) continue;
    found->worst = &record;
    found->excess = excess;
  }
  return list;
}

std::optional<double> pytorch_seconds(const OrthoResult& result) {
  const bool any_usual = std::any_of(result.records.begin(), result.records.end(), is_usual);
  double seconds = 0;
  std::size_t used = 0;
  std::size_t methods = 0;
  for (const OrthoRecord& record : result.records) {
    if (any_usual && !is_usual(record)) continue;
    if (record.method == result.records.front().method) ++methods;
    if (record.method != pytorch_method(record.shape.cols)) continue;
    seconds += record.seconds;
    ++used;
  }
  if (used == 0 || used != methods) return std::nullopt;
  return seconds;
}

std::string place_of(const OrthoRecord& record) {
  return fmt::format("{} of {} x {} in {}", record.input, record.shape.rows, record.shape.cols,
                     to_string(record.dtype));
}

std::string why_out(const Candidate& candidate) {
  const OrthoRecord& worst = *candidate.worst;
  if (std::isnan(worst.orthogonality)) {
    return fmt::format("{} is out: its columns are not finite on {}", candidate.method, place_of(worst));
  }
  return fmt::format("{} is out: ‖QᵀQ − I‖ = {:.2g} on {}", candidate.method, worst.orthogonality, place_of(worst));
}

void recommend(const OrthoSpec& spec, const OrthoResult& result, OrthoAdvice& advice) {
  std::vector<Candidate> list = candidates(spec, result);
  std::stable_sort(list.begin(), list.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  const auto best = std::find_if(list.begin(), list.end(), [](const Candidate& one) { return one.worst == nullptr; });
  advice.pytorch_seconds = pytorch_seconds(result);
  if (best == list.end()) {
    advice.reasons.emplace_back("no method stayed within the tolerance on every batch");
  } else {
    advice.recommended = best->method;
    advice.seconds = best->seconds;
    std::string reason =
        fmt::format("{} is the fastest method that stayed within ‖QᵀQ − I‖ <= {:.2g} on every batch: {}", best->method,
                    advice.tolerance, report::seconds_text(best->seconds));
    if (advice.pytorch_seconds) {
      reason += fmt::format(" for all, where PyTorch's rule (gram-schmidt to 2 columns, householder beyond) takes {}",
                            report::seconds_text(*advice.pytorch_seconds));
    }
    advice.reasons.push_back(std::move(reason));
  }
  for (const Candidate& candidate : list) {
    if (candidate.worst != nullptr && (best == list.end() || candidate.seconds < best->seconds ||
                                       candidate.method == gram_schmidt || candidate.method == householder)) {
      advice.reasons.push_back(why_out(candidate));
    }
  }
}

/// Seconds on random factors by columns, for each number of rows, type and method.
using Family = std::map<std::tuple<std::int64_t, DType, std::string>, std::map<std::int64_t, double>>;

void find_crossovers(const OrthoResult& result, OrthoAdvice& advice) {
  Family family;
  for (const OrthoRecord& record : result.records) {
    if (record.input != "random") continue;
    family[{record.shape.rows, record.dtype, record.method}][record.shape.cols] =
        record.seconds / static_cast<double>(record.shape.batch);
  }
  for (const auto& [key, times] : family) {
    const auto& [rows, dtype, method] = key;
    for (const std::string_view base : {gram_schmidt, householder}) {
      const auto against = family.find({rows, dtype, std::string(base)});
      if (method == base || against == family.end()) continue;
      Crossover crossover{rows, dtype, method, std::string(base), std::nullopt};
      for (auto at = times.rbegin(); at != times.rend() && at->second < against->second.at(at->first); ++at) {
        crossover.cols = at->first;
      }
      advice.crossovers.push_back(std::move(crossover));
    }
  }
}

void find_shares(const OrthoResult& result, OrthoAdvice& advice) {
  for (const RankCost& cost : result.rank_costs) {
    std::vector<StepShare> shares;
    double by_rule = 0;
    for (const OrthoRecord& record : result.records) {
      if (record.rank != cost.rank || record.dtype != result.records.front().dtype) continue;
      auto found = std::find_if(shares.begin(), shares.end(),
                                [&](const StepShare& share) { return share.method == record.method; });
      if (found == shares.end()) found = shares.insert(shares.end(), StepShare{cost.rank, record.method});
      found->seconds += record.seconds;
      if (record.method == pytorch_method(record.shape.cols)) by_rule += record.seconds;
    }
    if (by_rule == 0) continue;
    const double rest = std::max(cost.step_seconds - by_rule, 0.0);
    for (StepShare& share : shares) share.share = share.seconds / (rest + share.seconds);
    const auto recommended = std::find_if(shares.begin(), shares.end(), [&](const StepShare& share) {
      return advice.recommended && share.method == *advice.recommended;
    });
    std::string reason = fmt::format("at rank {} PyTorch's rule takes {:.0f} % of a compression step of {}", cost.rank,
                                     100 * by_rule / (rest + by_rule), report::seconds_text(cost.step_seconds));
    if (recommended != shares.end()) {
      reason += fmt::format("; {} would take {:.0f} %", recommended->method, 100 * recommended->share);
    }
    advice.reasons.push_back(std::move(reason));
    advice.shares.insert(advice.shares.end(), shares.begin(), shares.end());
  }
}

}  // namespace

double default_tolerance(DType dtype) { return dtype == DType::float64 ? 1e-13 : 1e-5; }

OrthoAdvice advise_ortho(const OrthoSpec& spec, const OrthoResult& result) {
  OrthoAdvice advice;
  for (const OrthoRecord& record : result.records) {
    advice.tolerance = std::max(advice.tolerance, tolerance_of(spec, record));
  }
  if (result.records.empty()) return advice;
  recommend(spec, result, advice);
  find_crossovers(result, advice);
  find_shares(result, advice);
  for (const std::int64_t rank : result.ranks_without_factors) {
    advice.reasons.push_back(fmt::format("at rank {} no tensor of the dump is compressed", rank));
  }
  return advice;
}

}  // namespace psgd::replay
