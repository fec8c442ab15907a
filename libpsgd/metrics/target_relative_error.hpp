#pragma once

#include "libpsgd/metrics/measurement.hpp"

namespace psgd::metrics {

/// ‖M − M̂‖_F / ‖M‖_F: what one step of compression loses of its own target, the gradient plus the error memory.
/// Comparable with the best possible at the same rank (Eckart–Young). In per-rank arithmetic the root mean square over
/// process ranks. NaN when M is zero, or where it was not measured (no error feedback).
double target_relative_error(const Measurement& measurement);

}  // namespace psgd::metrics
