#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace psgd::metrics {

/// The first index from which a series stays within `tolerance` times its final level, the median of its last half. Of
/// the best possible error or the drift of a parameter, one value a step: when compression may start
/// (start_powerSGD_iter).
///
/// Values that are not finite are passed over. std::nullopt when fewer than 8 are finite, or when what has settled is
/// less than a quarter of them: then the series says nothing about its level.
std::optional<std::size_t> settled_from(std::span<const double> series, double tolerance);

}  // namespace psgd::metrics
