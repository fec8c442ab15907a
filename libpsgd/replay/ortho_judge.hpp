#pragma once

#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/replay/ortho_inputs.hpp"

namespace psgd::replay {

/// How good the orthonormal columns are that a method left; as OrthoRecord says.
struct OrthoQuality {
  double orthogonality = 0;
  double residual = 0;
  double subspace_sine = 0;
};

/// Measures methods against one batch, in float64. Factorizes the batch by Householder QR once, to compare spans with.
class OrthoJudge {
 public:
  /// `full_rank`: the factors' spans are defined, so that two methods have to agree on them. Where a Cholesky factor of
  /// AᵀA does not exist in float64 they are not, whatever it says.
  OrthoJudge(const FactorBatch& batch, bool full_rank, backend::Backend<double>& backend);

  /// `q`: what a method left of the batch, in the same layout.
  [[nodiscard]] OrthoQuality judge(std::span<const double> q) const;

 private:
  [[nodiscard]] OrthoQuality judge_one(const double* a, const double* q, const double* reference) const;
  [[nodiscard]] double sine(const double* q, const double* reference) const;

  const FactorBatch& batch_;
  backend::Backend<double>& backend_;
  std::vector<double> reference_;
  std::vector<bool> defined_;  ///< of each factor: its span
};

}  // namespace psgd::replay
