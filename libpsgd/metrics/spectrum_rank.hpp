#pragma once

#include "libpsgd/metrics/spectrum.hpp"

namespace psgd::metrics {

/// ‖M‖_F²/‖M‖₂²: at least 1, at most the rank. NaN for a zero or empty matrix.
Bounded stable_rank(const Spectrum& spectrum);

/// exp(−Σ p_i ln p_i), p_i = σ_i/Σσ: the exponential of the entropy of the singular values (not of their squares). At
/// least 1, at most the rank. NaN for a zero or empty matrix. Source: Roy, Vetterli, The Effective Rank, EUSIPCO 2007.
///
/// Of a matrix known in part the value takes what is not known to be as flat as it can be. The bounds see the singular
/// values as a mixture, a share 1 − δ of `values`' distribution, of entropy H, and a share δ of what is missing, of
/// entropy between ln(its sum/its largest) and ln min(n, m): an entropy is concave, and a mixture's exceeds the mean of
/// its parts' by that of (δ, 1 − δ) at most. What is missing sums up to between ‖R‖_F²/(2·σ_1) and what its energy and
/// its largest element allow. They are wide where the spectrum is flat and little of it is known.
Bounded effective_rank(const Spectrum& spectrum);

}  // namespace psgd::metrics
