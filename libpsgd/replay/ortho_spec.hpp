#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/replay/spec.hpp"
#include "libpsgd/tensor/dtype.hpp"

namespace psgd::replay {

/// `batch` tall factors of one shape, orthonormalized together.
struct FactorShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batch = 1;

  bool operator==(const FactorShape&) const = default;
};

/// What a study of orthogonalization methods is asked to do: on `shapes`, or on all P and Q that `dump`, where it is
/// given, has at each of `ranks`.
struct OrthoSpec {
  std::vector<FactorShape> shapes;
  std::optional<ReplaySpec> dump;
  std::vector<std::int64_t> ranks;

  std::vector<std::string> methods;  ///< names in orthogonalize::methods(); empty: all
  std::vector<std::string> inputs;   ///< names in ortho_inputs(), replay-p, replay-q; empty: all that there are
  std::vector<DType> dtypes;         ///< float32, float64; empty: float32, or the replay's
  std::size_t repetitions = 7;
  double tolerance = 0;  ///< what ‖QᵀQ − I‖ may be to be recommended; 0: 10⁻⁵ in float32, 10⁻¹³ in float64
  std::uint32_t seed = 0;

  std::string backend = "cpu";
  std::size_t threads = 0;  ///< 0: all processors
};

/// One method on one batch of factors.
struct OrthoRecord {
  std::string method;
  FactorShape shape;
  DType dtype = DType::float32;
  std::string input;
  std::int64_t rank = 0;        ///< that a replayed factor comes from; 0 for one that is made up
  double seconds = 0;           ///< of the whole batch, median over repetitions
  double seconds_spread = 0;    ///< interquartile range over repetitions
  double bytes_per_second = 0;  ///< the factors read and written once each, in `seconds`
  double flops_per_second = 0;  ///< Householder's 4·rows·cols² − 4·cols³/3 a factor, whatever the method's own count is
  double orthogonality = 0;  ///< ‖QᵀQ − I‖_F, the largest of the batch; NaN where Q is not finite
  double residual = 0;  ///< ‖A − Q·QᵀA‖_F / ‖A‖_F, the largest of the batch; NaN as before, or where A is zero
  double subspace_sine = 0;  ///< of the largest principal angle between the columns' span and that of Householder QR in
                             ///< float64, the largest of the batch; NaN where the factor has no full rank
};

/// What a replay at one rank takes.
struct RankCost {
  std::int64_t rank = 0;
  double step_seconds = 0;  ///< median of a compressed step, orthogonalization by PyTorch's rule included
};

struct OrthoResult {
  bool complete = true;
  std::vector<OrthoRecord> records;
  std::vector<std::int64_t> ranks_without_factors;  ///< at which no tensor of the dump is compressed
  std::vector<RankCost> rank_costs;
};

}  // namespace psgd::replay
