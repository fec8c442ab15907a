#pragma once

#include <cstdint>
#include <span>

#include "libpsgd/compress/hook.hpp"
#include "libpsgd/dump/reader.hpp"
#include "libpsgd/metrics/hazard.hpp"
#include "libpsgd/replay/rank_mean.hpp"
#include "libpsgd/replay/selection.hpp"
#include "libpsgd/replay/spec.hpp"

namespace psgd::replay {

/// Looks at a configuration and at what its steps leave, and names what makes numbers mean less than they seem to.
template <class T>
class HazardWatch {
 public:
  HazardWatch(const dump::Description& dump, const Selection& selection, const compress::HookOptions& options);

  /// Before the first step: gaps between steps, half precision, averaged or incomplete recordings, ranks clipped by a
  /// dimension.
  void look_at_configuration(const compress::HookEntry& hook);

  /// Going on from a state whose last step was `last_step`: what was left out or repeated since is a gap.
  void look_at_resumption(std::int64_t last_step);

  /// A change of the loss scale among the chosen steps and process ranks.
  void look_at_loss_scale(const dump::Reader& reader);

  /// One bucket after a step. `gradients`: a process rank each, pointing to the bucket.
  void look_at_bucket(std::int64_t step, std::size_t position, const compress::BucketOutcome& outcome,
                      const RankMean<T>& ranks, std::span<const T* const> gradients);

  /// After the last step. `compressed_steps`: how many were compressed.
  void look_at_end(const compress::HookEntry& hook, std::int64_t compressed_steps, std::int64_t iter);

  [[nodiscard]] const std::vector<metrics::Hazard>& entries() const noexcept { return log_.entries(); }

  /// Goes on from entries taken earlier.
  void restore(std::vector<metrics::Hazard> entries) { log_.restore(std::move(entries)); }

 private:
  [[nodiscard]] const std::string& name(const TensorSlot& slot) const { return dump_.parameters[slot.parameter].name; }
  void look_at_values(std::int64_t step, std::size_t position, std::size_t tensor,
                      const compress::TensorOutcome& outcome, const RankMean<T>& ranks,
                      std::span<const T* const> gradients);
  void look_at_range(std::int64_t step, const std::string& parameter, const compress::FactorGrams& grams,
                     std::string_view factor);
  void look_at_factor(std::int64_t step, const std::string& parameter, const compress::FactorGrams& grams,
                      std::string_view factor);

  const dump::Description& dump_;
  const Selection& selection_;
  compress::HookOptions options_;
  metrics::HazardLog log_;
};

}  // namespace psgd::replay
