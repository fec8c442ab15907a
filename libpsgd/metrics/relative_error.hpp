#pragma once

#include "libpsgd/metrics/measurement.hpp"

namespace psgd::metrics {

/// ‖O − G‖_F / ‖G‖_F: how far the averaged output O is from the mean G of this step's gradients, what error feedback
/// puts back included. NaN when G is zero.
double relative_error(const Measurement& measurement);

/// Whether an output can be compared with this gradient at all: it is neither zero nor recorded with NaN or Inf.
bool is_comparable(const Measurement& measurement);

}  // namespace psgd::metrics
