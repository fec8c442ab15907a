#pragma once

#include <optional>

#include "libpsgd/replay/advice.hpp"

namespace psgd::replay {

/// Ranks layer by layer under the error or byte budget, from the errors that a sweep measured at each rank; nothing
/// without a budget or when fewer than two configurations differ in nothing but matrix_approximation_rank.
std::optional<LayerwisePlan> plan_layers(const SweepResult& sweep, const AdviceOptions& options);

}  // namespace psgd::replay
