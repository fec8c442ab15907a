#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace psgd::metrics {

/// How far two subspaces of equal dimension k are apart, from the cosines c_1 >= … >= c_k of their principal angles.
struct SubspaceDrift {
  std::int64_t dimension = 0;  ///< k; 0: there is nothing to compare, and the rest is NaN
  double drift = 0;  ///< 1 − Σc²/k = ‖V₁V₁ᵀ − V₂V₂ᵀ‖_F²/(2k): 0 for the same subspace, 1 for orthogonal ones
  double smallest_cosine = 0;  ///< c_k: of the direction that turned most
};

/// Compares the leading right singular subspaces of a matrix at two steps, spanned by `first` and `second`: orthonormal
/// vectors of `size` elements, one after the other, as Spectrum::directions. When one holds more vectors its last ones
/// are left out.
///
/// This is what a warm start relies on: PowerSGD's Q of the last step still points where the matrix does. The drift is
/// the mean over directions and so depends little on where the spectrum is cut; the smallest cosine is small, too,
/// where σ_k and σ_{k+1} are nearly equal, and then says nothing about training. Source: Björck, Golub, Math. Comp.
/// 27(123), 1973. Throws Error::internal when the spans are not whole vectors or LAPACK does not converge.
SubspaceDrift subspace_drift(std::span<const double> first, std::span<const double> second, std::int64_t size);

}  // namespace psgd::metrics
