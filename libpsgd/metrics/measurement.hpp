#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "libpsgd/backend/backend.hpp"

/// What reports say about a tensor after a step, one metric a file. All come from sums that the passes left behind, so
/// that no metric reads a gradient again.
namespace psgd::metrics {

/// One tensor after one step.
struct Measurement {
  backend::TensorSums sums;
  double target_sq =
      0;  ///< ‖M‖², M the compressed target: the mean over process ranks of gradient plus error memory; NaN if unknown
  double residual_sq = 0;  ///< ‖M − M̂‖²; NaN if unknown
  std::int64_t numel_before = 0;
  std::int64_t numel_after = 0;  ///< −1 where only the bucket has a count
};

struct Metric {
  std::string_view name;  ///< the column's name
  std::string_view unit;  ///< "" for a ratio
  std::string_view help;
  double (*value)(const Measurement&);  ///< NaN where it does not exist
};

/// Every metric, in the order of the columns.
std::span<const Metric> metrics();

}  // namespace psgd::metrics
