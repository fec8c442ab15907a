#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace psgd::metrics {

/// A number and what it is known to lie between. Where all three are equal it was computed exactly, up to rounding. NaN
/// where the number does not exist.
struct Bounded {
  double value = 0;
  double lower = 0;
  double upper = 0;
};

struct SpectrumOptions {
  std::int64_t exact_limit = 512;  ///< matrices whose smaller side is at most this get all singular values, by LAPACK
  std::int64_t leading = 32;       ///< of the others: how many of the largest ones are wanted
  std::int64_t oversampling = 10;  ///< of the others: columns of the sketch beyond those
  int power_iterations = 2;        ///< of the others
  std::uint32_t seed = 0;          ///< of the others
  std::int64_t directions = 0;     ///< leading right singular vectors wanted; at most `leading` beyond the limit
};

/// What is known of the singular values σ_1 >= σ_2 >= … of a rows × cols matrix M.
///
/// Exactly computed: `values` holds all min(rows, cols) of them. Otherwise Q has orthonormal columns that nearly span
/// M's leading left singular vectors, `values` are the singular values of QᵀM, and R = M − QQᵀM is what Q misses. Then,
/// whatever Q is,
///
///     values_i² <= σ_i² <= values_i² + ‖R‖₂²,   σ_i <= ‖R‖₂ for i beyond values,   ‖M‖_F² = Σ values² + ‖R‖_F²
///
/// (Weyl's inequality for MᵀM = MᵀQQᵀM + RᵀR), which is what all bounds made from a Spectrum rest on.
struct Spectrum {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool exact = true;
  double norm = 0;             ///< ‖M‖_F
  std::vector<double> values;  ///< in descending order
  double rest = 0;             ///< at least ‖R‖₂, rounding included; 0 when exact
  double rest_norm_lower = 0;  ///< ‖R‖_F is at least this …
  double rest_norm_upper = 0;  ///< … and at most this; 0 when exact
  double rounding = 0;         ///< what rounding may have added to a value; 0 when exact
  /// That `rest` is too small: 1e-8 at most, over the choice of the seed; 0 when exact.
  double failure_probability = 0;

  /// `directions` columns of cols elements, one after the other: right singular vectors of the largest values. Fewer
  /// than asked for when the matrix has a lower rank (to working precision), for then they are arbitrary.
  std::vector<double> directions;

  [[nodiscard]] std::int64_t side() const noexcept { return rows < cols ? rows : cols; }
};

/// The spectrum of a row-major matrix; std::nullopt when it does not exist, because an element is NaN or infinite.
///
/// Up to options.exact_limit: Householder QR of the matrix or its transpose and LAPACK's SVD (gesdd) of the triangle,
/// all in float64: errors of a small multiple of 1e-16·σ_1 in each value. About 2·n·m·s + 3·s³ operations, s = min(n,
/// m); n·m doubles of memory. A zero matrix has zeros for values, an empty one has none.
///
/// Beyond: randomized subspace iteration with a Gaussian sketch of leading + oversampling columns (Halko, Martinsson,
/// Tropp, Finding Structure with Randomness, SIAM Review 53(2), 2011, algorithm 4.4), then a bound for ‖R‖₂ from seven
/// applications of R or its transpose to eight Gaussian vectors (their lemma 4.1 for (RRᵀ)³R). About
/// 4·(power_iterations + 1)·n·m·(leading + oversampling) operations, and memory for a few blocks of (n + m)·(leading +
/// oversampling) doubles. The same seed gives the same numbers. In either case the last bits depend on how many threads
/// the BLAS library takes; let it take one where matrices are shared out among threads anyway.
///
/// Throws Error::usage for negative options, and Error::internal when LAPACK does not converge.
template <class T>
std::optional<Spectrum> spectrum(const T* matrix, std::int64_t rows, std::int64_t cols,
                                 const SpectrumOptions& options = {});

/// σ_index, counted from 0; 0 from min(rows, cols) on. Beyond `values` the value is the root mean square of those that
/// are not known.
Bounded singular_value(const Spectrum& spectrum, std::int64_t index);

}  // namespace psgd::metrics
