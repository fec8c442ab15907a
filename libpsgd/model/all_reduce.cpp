#include "libpsgd/model/all_reduce.hpp"

#include <bit>
#include <cmath>

#include "libpsgd/base/error.hpp"

namespace psgd::model {

std::string_view to_string(Algorithm algorithm) { return algorithm == Algorithm::ring ? "ring" : "tree"; }

Algorithm algorithm_from_string(std::string_view name) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
    if (to_string(algorithm) == name) return algorithm;
  }
  throw Error::usage("unknown all-reduce algorithm \"{}\" (known: ring, tree)", name);
}

void check(const Network& network) {
  if (!(std::isfinite(network.alpha) && network.alpha >= 0)) {
    throw Error::usage("a network's alpha must be at least 0 seconds, got {}", network.alpha);
  }
  if (!(std::isfinite(network.beta) && network.beta >= 0)) {
    throw Error::usage("a network's beta must be at least 0 seconds a byte, got {}", network.beta);
  }
  if (network.alpha == 0 && network.beta == 0)
    throw Error::usage("a network with alpha and beta both 0 takes no time at all");
}

double all_reduce_messages(Algorithm algorithm, std::int64_t process_ranks) {
  if (process_ranks <= 1) return 0;
  if (algorithm == Algorithm::ring) return 2.0 * static_cast<double>(process_ranks - 1);
  return 2.0 * static_cast<double>(std::bit_width(static_cast<std::uint64_t>(process_ranks - 1)));
}

double all_reduce_traffic(Algorithm algorithm, std::int64_t process_ranks) {
  if (process_ranks <= 1) return 0;
  if (algorithm == Algorithm::tree) return 2;
  const auto p = static_cast<double>(process_ranks);
  return 2 * (p - 1) / p;
}

double all_reduce_seconds(Algorithm algorithm, const Network& network, std::int64_t process_ranks, double bytes) {
  if (bytes <= 0) return 0;
  return all_reduce_messages(algorithm, process_ranks) * network.alpha +
         all_reduce_traffic(algorithm, process_ranks) * bytes * network.beta;
}

double all_gather_messages(Algorithm algorithm, std::int64_t process_ranks) {
  return all_reduce_messages(algorithm, process_ranks) / 2;
}

double all_gather_traffic(std::int64_t process_ranks) {
  return process_ranks <= 1 ? 0 : static_cast<double>(process_ranks - 1);
}

double all_gather_seconds(Algorithm algorithm, const Network& network, std::int64_t process_ranks, double bytes) {
  if (bytes <= 0) return 0;
  return all_gather_messages(algorithm, process_ranks) * network.alpha +
         all_gather_traffic(process_ranks) * bytes * network.beta;
}

double bus_bandwidth(std::int64_t process_ranks, double bytes, double seconds) {
  return bytes / seconds * all_reduce_traffic(Algorithm::ring, process_ranks);
}

}  // namespace psgd::model
