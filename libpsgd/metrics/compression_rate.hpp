#pragma once

#include "libpsgd/metrics/measurement.hpp"

namespace psgd::metrics {

/// Elements before / elements after, as PyTorch's compression_stats counts: both factors, one process rank. NaN where
/// only the bucket has a count.
double compression_rate(const Measurement& measurement);

}  // namespace psgd::metrics
