#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "libpsgd/replay/ortho_inputs.hpp"

namespace psgd::replay {

/// What one method did to a batch.
struct MethodRun {
  std::vector<double> q;  ///< what it left, in the batch's layout
  double seconds = 0;     ///< of the whole batch, median over repetitions
  double spread = 0;      ///< interquartile range
};

/// Runs methods on a batch, each time on a fresh copy, one after the other in every repetition, so that a change of the
/// machine's speed meets all of them alike; the first round is not timed. Short runs are timed several at once. On the
/// device that `backend` computes on, copying excluded.
template <class T>
std::vector<MethodRun> time_methods(const FactorBatch& batch, std::span<const orthogonalize::Method* const> methods,
                                    std::size_t repetitions, backend::Backend<T>& backend);

}  // namespace psgd::replay
