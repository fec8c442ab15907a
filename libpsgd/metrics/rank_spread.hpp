#pragma once

#include <cstdint>

namespace psgd::metrics {

/// How far the process ranks' gradients lie from their mean: √(Σ‖G_w − Ḡ‖²/W)/‖Ḡ‖, from Σ‖G_w‖² and ‖Ḡ‖² since Σ‖G_w −
/// Ḡ‖² = Σ‖G_w‖² − W·‖Ḡ‖². 0 for one process rank or equal gradients; for independent noise on a common gradient, the
/// noise of one rank over the gradient. Never NaN for a finite, nonzero mean: rounding below zero counts as zero.
double rank_spread(double sum_of_gradient_sq, double mean_sq, std::int64_t process_ranks);

}  // namespace psgd::metrics
