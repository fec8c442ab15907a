#pragma once

#include "libpsgd/metrics/measurement.hpp"

namespace psgd::metrics {

/// ‖G‖_F of the mean over process ranks of this step's gradients.
double gradient_norm(const Measurement& measurement);

/// ‖O‖_F of the averaged output.
double averaged_norm(const Measurement& measurement);

}  // namespace psgd::metrics
