#include "libpsgd/model/break_even.hpp"

#include <limits>

namespace psgd::model {

std::optional<double> break_even_bandwidth(std::span<const BucketCost> buckets, const Cluster& cluster) {
  double saved = 0;
  double compression = 0;
  double extra_collectives = 0;
  for (const BucketCost& bucket : buckets) {
    saved += bucket.dense_bytes - bucket.uncompressed_bytes - bucket.p_bytes - bucket.q_bytes;
    compression += bucket.compress_seconds;
    for (const double bytes : {bucket.uncompressed_bytes, bucket.p_bytes, bucket.q_bytes})
      extra_collectives += bytes > 0 ? 1 : 0;
    extra_collectives -= bucket.dense_bytes > 0 ? 1 : 0;
  }
  const double gain = all_reduce_traffic(cluster.algorithm, cluster.process_ranks) * saved;
  const double cost = compression + extra_collectives * all_reduce_messages(cluster.algorithm, cluster.process_ranks) *
                                        cluster.network.alpha;
  if (gain <= 0) return std::nullopt;
  if (cost <= 0) return std::numeric_limits<double>::infinity();
  return gain / cost;
}

std::optional<std::int64_t> break_even_process_ranks(std::span<const BucketCost> buckets, Cluster cluster,
                                                     std::int64_t limit) {
  // With α > 0 the gain need not grow with the number of process ranks, so every one up to the limit is tried; each
  // costs a few flops a bucket.
  for (cluster.process_ranks = 2; cluster.process_ranks <= limit; ++cluster.process_ranks) {
    if (power_sgd_step(buckets, cluster).without_overlap < dense_step(buckets, cluster).without_overlap)
      return cluster.process_ranks;
  }
  return std::nullopt;
}

}  // namespace psgd::model
