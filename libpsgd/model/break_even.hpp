#pragma once

#include <optional>

#include "libpsgd/model/step_time.hpp"

namespace psgd::model {

/// Below this bandwidth (1/β, bytes a second) compression pays; nothing when it never does. Without overlap:
/// traffic·(S − S_c) / (T_compress + extra messages·α). Infinite when compression costs no time.
std::optional<double> break_even_bandwidth(std::span<const BucketCost> buckets, const Cluster& cluster);

/// The smallest number of process ranks from which on compression is faster without overlap, up to `limit`; nothing
/// when there is none.
std::optional<std::int64_t> break_even_process_ranks(std::span<const BucketCost> buckets, Cluster cluster,
                                                     std::int64_t limit = 65536);

}  // namespace psgd::model
