#include "libpsgd/model/break_even.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psgd::model {
namespace {

/// What a step saves, as a function of the network and the number of process ranks: everything in it is a sum over
/// buckets.
struct Balance {
  double saved_bytes = 0;        // of all-reduces
  double extra_all_reduces = 0;  // may be negative
  double gathered_bytes = 0;
  double gathers = 0;
  double compress_seconds = 0;

  explicit Balance(std::span<const BucketCost> buckets) {
    for (const BucketCost& bucket : buckets) {
      saved_bytes += bucket.dense_bytes - bucket.uncompressed_bytes - bucket.p_bytes - bucket.q_bytes;
      for (const double bytes : {bucket.uncompressed_bytes, bucket.p_bytes, bucket.q_bytes})
        extra_all_reduces += bytes > 0 ? 1 : 0;
      extra_all_reduces -= bucket.dense_bytes > 0 ? 1 : 0;
      gathered_bytes += bucket.gathered_bytes;
      gathers += bucket.gathered_bytes > 0 ? 1 : 0;
      compress_seconds += bucket.compress_seconds;
    }
  }

  /// What β is multiplied by.
  [[nodiscard]] double bytes(Algorithm algorithm, std::int64_t process_ranks) const {
    return all_reduce_traffic(algorithm, process_ranks) * saved_bytes -
           all_gather_traffic(process_ranks) * gathered_bytes;
  }

  /// Seconds that do not depend on β.
  [[nodiscard]] double cost(const Cluster& cluster, std::int64_t process_ranks) const {
    return compress_seconds +
           cluster.network.alpha * (extra_all_reduces * all_reduce_messages(cluster.algorithm, process_ranks) +
                                    gathers * all_gather_messages(cluster.algorithm, process_ranks));
  }

  [[nodiscard]] double gain(const Cluster& cluster, std::int64_t process_ranks) const {
    return cluster.network.beta * bytes(cluster.algorithm, process_ranks) - cost(cluster, process_ranks);
  }
};

/// Where the gain is largest. For the ring it is a·(1 − 1/p) − b·(p − 1) − c, which is concave; for the tree it falls
/// with every doubling, or rises where compression saves messages.
std::int64_t best_number(const Balance& balance, const Cluster& cluster, std::int64_t limit) {
  const double alpha = cluster.network.alpha;
  const double beta = cluster.network.beta;
  if (cluster.algorithm == Algorithm::tree) {
    // Within a doubling the gain does not rise, so that its largest value lies at the beginning of one.
    std::int64_t best = 2;
    for (std::int64_t power = 2; power < limit; power *= 2) {
      if (balance.gain(cluster, power + 1) > balance.gain(cluster, best)) best = power + 1;
    }
    return best;
  }
  const double a = 2 * beta * balance.saved_bytes;
  const double b = alpha * (2 * balance.extra_all_reduces + balance.gathers) + beta * balance.gathered_bytes;
  if (b <= 0) return limit;
  const double peak = a > 0 ? std::sqrt(a / b) : 2;
  if (peak >= static_cast<double>(limit)) return limit;
  const std::int64_t below = std::max<std::int64_t>(2, static_cast<std::int64_t>(peak));
  const std::int64_t above = std::min(limit, below + 1);
  return balance.gain(cluster, above) > balance.gain(cluster, below) ? above : below;
}

}  // namespace

std::optional<double> break_even_bandwidth(std::span<const BucketCost> buckets, const Cluster& cluster) {
  const Balance balance(buckets);
  const double gain = balance.bytes(cluster.algorithm, cluster.process_ranks);
  const double cost = balance.cost(cluster, cluster.process_ranks);
  if (gain <= 0) return std::nullopt;
  if (cost <= 0) return std::numeric_limits<double>::infinity();
  return gain / cost;
}

std::optional<ProcessRankRange> break_even_process_ranks(std::span<const BucketCost> buckets, const Cluster& cluster,
                                                         std::int64_t limit) {
  const Balance balance(buckets);
  const auto pays = [&](std::int64_t process_ranks) { return balance.gain(cluster, process_ranks) > 0; };
  const std::int64_t best = best_number(balance, cluster, limit);
  if (limit < 2 || !pays(best)) return std::nullopt;
  ProcessRankRange range;
  // The gain rises up to the best number and falls behind it, so each end is found by halving.
  std::int64_t low = 1;
  std::int64_t high = best;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (pays(middle) ? high : low) = middle;
  }
  range.first = high;
  if (pays(limit)) return range;
  low = best;
  high = limit;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (pays(middle) ? low : high) = middle;
  }
  range.last = low;
  return range;
}

}  // namespace psgd::model
