#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libpsgd/metrics/hazard.hpp"
#include "tools/psgd-inspect/inspection.hpp"

namespace psgd::tools::inspect {
namespace {

using metrics::HazardKind;
using Severity = Finding::Severity;

Finding finding(std::string_view kind, Severity severity, std::string text) {
  Finding result{std::string(kind), severity};
  result.text = std::move(text);
  return result;
}

Finding finding(HazardKind kind, Severity severity, std::string text) {
  return finding(metrics::to_string(kind), severity, std::move(text));
}

void find_in_description(const Inspection& inspection, std::vector<Finding>& findings) {
  const dump::Description& dump = inspection.dump;
  if (!dump.complete) {
    findings.push_back(finding(HazardKind::incomplete_dump, Severity::problem,
                               "the recording was not closed properly; its complete steps can be read"));
  }
  if (!inspection.missing_process_ranks.empty()) {
    findings.push_back(finding(
        "missing-process-ranks", Severity::problem,
        fmt::format(
            "of {} process ranks these are not in the dump: {}; name their files too, or choose with --process-ranks",
            dump.world_size, fmt::join(inspection.missing_process_ranks, ", "))));
  }
  if (dump.grad_kind == dump::GradKind::averaged) {
    findings.push_back(
        finding(HazardKind::averaged_gradients, Severity::problem,
                "the gradients are averaged over process ranks already, so what single ones would keep is lost"));
  }
  if (!dump.buckets_recorded) {
    findings.push_back(finding("buckets-not-recorded", Severity::note,
                               "no buckets are recorded; DistributedDataParallel's default rule stands in"));
  }
  for (const std::string& note : dump.notes) findings.push_back(finding("reader", Severity::note, note));
}

void find_in_steps(const Inspection& inspection, std::vector<Finding>& findings) {
  const StepPattern& pattern = inspection.step_pattern;
  if (pattern.stride != 1) {
    findings.push_back(
        finding(HazardKind::step_gaps, Severity::problem,
                fmt::format("steps are recorded {} apart: replayed as consecutive they falsify warm start and "
                            "error feedback",
                            pattern.stride)));
  }
  if (!pattern.gaps.empty()) {
    Finding gaps =
        finding(HazardKind::step_gaps, Severity::problem,
                fmt::format("steps between {} and {} are missing: replayed as consecutive they falsify warm start "
                            "and error feedback",
                            pattern.gaps.front().after, pattern.gaps.front().before));
    gaps.step = pattern.gaps.front().before;
    gaps.count = static_cast<std::int64_t>(pattern.gaps.size());
    findings.push_back(std::move(gaps));
  }
  if (inspection.training.loss_scale_changes > 0) {
    Finding scale =
        finding(HazardKind::loss_scale_change, Severity::note,
                fmt::format("the loss scale changes between {} and {}; gradients are recorded with it, so error "
                            "feedback mixes scales",
                            inspection.training.loss_scale_min, inspection.training.loss_scale_max));
    scale.step = inspection.training.first_loss_scale_change;
    scale.count = inspection.training.loss_scale_changes;
    findings.push_back(std::move(scale));
  }
}

void find_in_shape(const Parameter& parameter, std::vector<Finding>& findings) {
  if (!parameter.shape.empty()) return;
  Finding scalar = finding("zero-dimensional", Severity::problem,
                           "PyTorch's layerwise hook fails on a 0-dimensional parameter; take it out with --exclude");
  scalar.parameter = parameter.name;
  findings.push_back(std::move(scalar));
}

void find_in_statistics(const std::string& name, const GradientStatistics& statistics, std::vector<Finding>& findings) {
  if (statistics.non_finite_values > 0) {
    Finding non_finite = finding(HazardKind::non_finite_input, Severity::problem,
                                 "NaN or infinite values; a replay hands them to every step after this one");
    non_finite.parameter = name;
    non_finite.step = statistics.first_non_finite_step;
    non_finite.process_rank = statistics.first_non_finite_process_rank;
    non_finite.count = statistics.non_finite_values;
    findings.push_back(std::move(non_finite));
  }
  if (statistics.zero_records > 0) {
    const bool always = statistics.zero_records == statistics.finite_records && statistics.non_finite_values == 0;
    Finding zero = finding(HazardKind::zero_gradient, Severity::note,
                           always ? "every recorded gradient is zero" : "some recorded gradients are zero");
    zero.text += "; where all process ranks' are, Gram-Schmidt with an epsilon of 0 gives NaN";
    zero.parameter = name;
    zero.count = statistics.zero_records;
    findings.push_back(std::move(zero));
  }
}

}  // namespace

std::vector<Finding> find(const Inspection& inspection) {
  std::vector<Finding> findings;
  find_in_description(inspection, findings);
  find_in_steps(inspection, findings);
  for (std::size_t i = 0; i < inspection.dump.parameters.size(); ++i) {
    const Parameter& parameter = inspection.dump.parameters[i];
    find_in_shape(parameter, findings);
    if (inspection.survey) find_in_statistics(parameter.name, inspection.survey->parameters[i], findings);
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return findings;
}

}  // namespace psgd::tools::inspect
