#pragma once

#include <optional>

#include "libpsgd/model/step_time.hpp"

/// Where compression stops paying. All of it without overlap, where the formulas are closed; with overlap compression
/// can only pay less, as what it shortens may be hidden anyway.
namespace psgd::model {

/// Below this bandwidth (1/β, bytes a second) compression pays; nothing when it never does. With E the collectives that
/// compression adds:
///
///     (traffic·(S − S_summed) − (p−1)·S_gathered) / (T_compress + E·messages·α + gathers·messages·α)
///
/// Infinite when compression costs no time.
std::optional<double> break_even_bandwidth(std::span<const BucketCost> buckets, const Cluster& cluster);

/// Numbers of process ranks with which compression is faster: an interval, as the traffic saved levels off with their
/// number and the messages added grow. (With the tree, a compressor that saves messages may gain with some numbers
/// beyond the interval too; it holds the number that gains most.)
struct ProcessRankRange {
  std::int64_t first = 2;
  std::optional<std::int64_t> last;  ///< none: up to the limit
};

/// The interval within 2 … `limit`; nothing when there is none. The cluster's own number of process ranks does not
/// matter.
std::optional<ProcessRankRange> break_even_process_ranks(std::span<const BucketCost> buckets, const Cluster& cluster,
                                                         std::int64_t limit = 65536);

}  // namespace psgd::model
