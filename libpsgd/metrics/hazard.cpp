#include "libpsgd/metrics/hazard.hpp"

#include <utility>

namespace psgd::metrics {

std::string_view to_string(HazardKind kind) {
  switch (kind) {
    case HazardKind::non_finite_input:
      return "non-finite-input";
    case HazardKind::non_finite_output:
      return "non-finite-output";
    case HazardKind::zero_gradient:
      return "zero-gradient";
    case HazardKind::zero_column:
      return "zero-column";
    case HazardKind::parallel_columns:
      return "parallel-columns";
    case HazardKind::lost_orthogonality:
      return "lost-orthogonality";
    case HazardKind::rank_clipped:
      return "rank-clipped";
    case HazardKind::compression_enlarges:
      return "compression-enlarges";
    case HazardKind::float32_range:
      return "float32-range";
    case HazardKind::rank_zero:
      return "rank-zero";
    case HazardKind::start_never_reached:
      return "start-never-reached";
    case HazardKind::step_gaps:
      return "step-gaps";
    case HazardKind::loss_scale_change:
      return "loss-scale-change";
    case HazardKind::rounding_not_emulated:
      return "rounding-not-emulated";
    case HazardKind::averaged_gradients:
      return "averaged-gradients";
    case HazardKind::incomplete_dump:
      return "incomplete-dump";
  }
  return "unknown";
}

void HazardLog::add(const Hazard& hazard) {
  const auto [entry, fresh] =
      known_.try_emplace({hazard.kind, hazard.parameter, hazard.process_rank.value_or(-1)}, entries_.size());
  if (fresh) {
    entries_.push_back(hazard);
  } else {
    ++entries_[entry->second].count;
  }
}

void HazardLog::restore(std::vector<Hazard> entries) {
  entries_ = std::move(entries);
  known_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i)
    known_.emplace(std::make_tuple(entries_[i].kind, entries_[i].parameter, entries_[i].process_rank.value_or(-1)), i);
}

}  // namespace psgd::metrics
