#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libpsgd/model/all_reduce.hpp"

namespace psgd::model {

/// What one bucket sends in a step, in bytes a process rank, and how long compressing it takes.
struct BucketCost {
  double dense_bytes = 0;         ///< the bucket as it is
  double uncompressed_bytes = 0;  ///< its tensors that are not worth compressing
  double p_bytes = 0;             ///< the first all-reduce of compressed tensors: P, or another compressor's only one
  double q_bytes = 0;             ///< the second: Q
  double gathered_bytes = 0;      ///< what compressors send that cannot be summed on the way: an all-gather
  double compress_seconds = 0;    ///< computing for compression, collectives excluded

  /// What a process rank hands to its collectives in a compressed step.
  [[nodiscard]] double sent_bytes() const { return uncompressed_bytes + p_bytes + q_bytes + gathered_bytes; }
};

/// A job's step and the network under it.
struct Cluster {
  Network network;
  Algorithm algorithm = Algorithm::ring;
  std::int64_t process_ranks = 1;
  double forward_seconds = 0;
  double backward_seconds = 0;
};

/// Seconds of a training step.
struct StepTime {
  double communication = 0;  ///< all collectives
  double compression = 0;
  double without_overlap = 0;  ///< forward, backward, compression and collectives one after the other
  double with_overlap = 0;  ///< a bucket's collectives run while later gradients are computed; compression shares the
                            ///< backward pass's device
};

/// Plain DistributedDataParallel: one all-reduce a bucket.
StepTime dense_step(std::span<const BucketCost> buckets, const Cluster& cluster);

/// With compression: a bucket's uncompressed tensors, P, and Q are three all-reduces, each dependent on the one before,
/// as in PyTorch's powerSGD_hook; what is gathered is a fourth collective. Those without bytes do not take place.
///
/// With overlap, buckets become ready evenly over the backward pass, in order; collectives go through one channel in
/// order (as on NCCL's stream), and compressing takes time from the device that computes the backward pass.
StepTime compressed_step(std::span<const BucketCost> buckets, const Cluster& cluster);

/// Seconds of the collectives of one bucket.
double bucket_communication(const BucketCost& bucket, const Cluster& cluster, bool compressed);

}  // namespace psgd::model
