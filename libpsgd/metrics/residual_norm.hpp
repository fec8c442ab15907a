#pragma once

#include "libpsgd/metrics/measurement.hpp"

namespace psgd::metrics {

/// ‖E_w‖_F of a process rank's error memory in fused arithmetic, from the mean memory Ē and the rank's deviation D_w:
/// ‖E_w‖² = ‖Ē‖² + 2⟨Ē, D_w⟩ + ‖D_w‖². Never NaN for finite arguments: rounding below zero counts as zero.
double residual_norm(double mean_error_sq, double error_dot_deviation, double deviation_sq);

/// Growth of the residual: the last norm over the first that is not zero. NaN when there is none.
double residual_growth(double first, double last);

}  // namespace psgd::metrics
