#pragma once

#include "libpsgd/metrics/scaled_matrix.hpp"
#include "libpsgd/metrics/spectrum.hpp"

namespace psgd::metrics {

/// What randomized subspace iteration finds of a matrix; in the scale of the matrix.
struct RandomizedSpectrum {
  std::vector<double> values;  ///< of QᵀM
  Columns directions;          ///< its leading right singular vectors, min(options.directions, options.leading)
  double norm_sq = 0;          ///< ‖M‖_F²
  double rest = 0;  ///< ‖M − QQᵀM‖₂ is at most this, except with `failure_probability`; before rounding
  double failure_probability = 0;
};

/// `sketch` columns, 0 < sketch < min(rows, cols).
template <class T>
RandomizedSpectrum find_range(const ScaledMatrix<T>& matrix, std::size_t sketch, const SpectrumOptions& options);

}  // namespace psgd::metrics
