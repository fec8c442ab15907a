#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::tools::inspect {

/// What one matrix approximation rank does to a step of one process rank.
struct RankPlan {
  std::int64_t rank = 0;
  std::vector<bool> compressed;  ///< by the layerwise hook, as the parameters are ordered
  std::int64_t compressed_parameters = 0;
  std::int64_t numel_before = 0;  ///< 0-dimensional parameters do not count: the hook fails on them
  std::int64_t numel_after = 0;
  std::int64_t batched_numel_after =
      0;  ///< with the batched and original hooks; 0 when a bucket's side is smaller than the rank

  [[nodiscard]] double rate() const;          ///< numel_before / numel_after, or 0
  [[nodiscard]] double batched_rate() const;  ///< likewise
};

RankPlan plan_rank(std::span<const Parameter> parameters, const GradientLayout& layout, std::int64_t rank,
                   double min_compression_rate);

}  // namespace psgd::tools::inspect
