#pragma once

#include <cstdint>

#include "libpsgd/metrics/spectrum.hpp"

namespace psgd::metrics {

/// The smallest relative error ‖M − M̂‖_F/‖M‖_F that a matrix M̂ of rank at most `rank` can have, √(Σ_{i>rank} σ_i²/Σ
/// σ_i²): the theorem of Eckart and Young. 0 from min(rows, cols) on; NaN for a zero or empty matrix.
///
/// Of a matrix known in part the value is the error of the best approximation within what is known, with Σ_{rank<i}
/// values_i² + ‖R‖_F² − min(rank·‖R‖₂², ‖R‖_F²) <= Σ_{i>rank} σ_i² <= Σ_{rank<i} values_i² + ‖R‖_F² (see Spectrum; the
/// lower bound by Ky Fan's inequality).
Bounded optimal_relative_error(const Spectrum& spectrum, std::int64_t rank);

/// How many times the best possible error a measured one is, both relative to the norm of the same matrix: 1 when
/// nothing could be better. Infinite where only the best is 0, NaN where both are or one does not exist.
///
/// Rounding leaves a compressor's error at about the unit roundoff of its numbers, whatever the rank: a large ratio of
/// two errors that small means nothing.
Bounded optimality_gap(double measured_relative_error, const Bounded& optimal);

}  // namespace psgd::metrics
