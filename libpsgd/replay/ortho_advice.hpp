#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/replay/ortho_spec.hpp"

namespace psgd::replay {

/// From how many columns on a method is faster than another one, on random factors of as many rows.
struct Crossover {
  std::int64_t rows = 0;
  DType dtype = DType::float32;
  std::string method;
  std::string overtakes;
  std::optional<std::int64_t> cols;  ///< the least tried from which on it is faster at all tried; none: never
};

/// What part of a compression step a method takes, on the factors of a replay at one rank.
struct StepShare {
  std::int64_t rank = 0;
  std::string method;
  double seconds = 0;  ///< of all P and Q of a step
  double share = 0;    ///< of a step with this method in place of PyTorch's rule
};

struct OrthoAdvice {
  double tolerance = 0;  ///< of the coarsest type that was tried
  std::optional<std::string> recommended;
  double seconds = 0;                     ///< that the recommended method takes for all shapes; 0 without one
  std::optional<double> pytorch_seconds;  ///< the same by PyTorch's rule, where both of its methods were tried
  std::vector<std::string> reasons;       ///< whole sentences
  std::vector<Crossover> crossovers;
  std::vector<StepShare> shares;
};

/// What ‖QᵀQ − I‖_F a recommended method may leave by default: 10⁻⁵ in float32, 10⁻¹³ in float64.
double default_tolerance(DType dtype);

/// Recommends the fastest method among those that left finite columns within the tolerance on every batch, and says why
/// the others are out. Times are those on random and replayed factors, or on all where there are none.
OrthoAdvice advise_ortho(const OrthoSpec& spec, const OrthoResult& result);

}  // namespace psgd::replay
