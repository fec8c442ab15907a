#pragma once

#include "libpsgd/backend/backend.hpp"

namespace psgd::backend {

/// to += from, member by member.
inline void add(const TensorSums& from, TensorSums& to) {
  to.gradient_sq += from.gradient_sq;
  to.averaged_sq += from.averaged_sq;
  to.difference_sq += from.difference_sq;
  to.dot += from.dot;
}

}  // namespace psgd::backend
