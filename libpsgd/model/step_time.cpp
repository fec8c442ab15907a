#include "libpsgd/model/step_time.hpp"

#include <algorithm>

namespace psgd::model {
namespace {

StepTime predict(std::span<const BucketCost> buckets, const Cluster& cluster, bool compressed) {
  StepTime time;
  const double share = buckets.empty() ? 0 : cluster.backward_seconds / static_cast<double>(buckets.size());
  double device = cluster.forward_seconds;  // when the device has computed and compressed everything so far
  double channel = 0;                       // when the channel has sent everything so far
  for (const BucketCost& bucket : buckets) {
    const double communication = bucket_communication(bucket, cluster, compressed);
    const double compression = compressed ? bucket.compress_seconds : 0;
    time.communication += communication;
    time.compression += compression;
    device += share + compression;
    channel = std::max(channel, device) + communication;
  }
  time.without_overlap = cluster.forward_seconds + cluster.backward_seconds + time.compression + time.communication;
  time.with_overlap = std::max(device, channel);
  return time;
}

}  // namespace

double bucket_communication(const BucketCost& bucket, const Cluster& cluster, bool compressed) {
  const auto seconds = [&](double bytes) {
    return all_reduce_seconds(cluster.algorithm, cluster.network, cluster.process_ranks, bytes);
  };
  if (!compressed) return seconds(bucket.dense_bytes);
  return seconds(bucket.uncompressed_bytes) + seconds(bucket.p_bytes) + seconds(bucket.q_bytes) +
         all_gather_seconds(cluster.algorithm, cluster.network, cluster.process_ranks, bucket.gathered_bytes);
}

StepTime dense_step(std::span<const BucketCost> buckets, const Cluster& cluster) {
  return predict(buckets, cluster, false);
}

StepTime compressed_step(std::span<const BucketCost> buckets, const Cluster& cluster) {
  return predict(buckets, cluster, true);
}

}  // namespace psgd::model
