#pragma once

#include "libpsgd/metrics/measurement.hpp"

namespace psgd::metrics {

/// ⟨O, G⟩ / (‖O‖·‖G‖): 1 when the averaged output points where the mean gradient does. NaN when either is zero.
double cosine(const Measurement& measurement);

}  // namespace psgd::metrics
