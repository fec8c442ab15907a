#pragma once

#include <cstdint>
#include <string_view>

/// What compression costs on the wire and the clock: closed formulas, nothing measured here.
namespace psgd::model {

/// A network as the α–β model sees it.
struct Network {
  double alpha = 0;  ///< seconds a message needs however short it is
  double beta = 0;   ///< seconds a byte
};

enum class Algorithm { ring, tree };

/// "ring" or "tree".
std::string_view to_string(Algorithm algorithm);

/// The inverse. Throws Error::usage for any other name.
Algorithm algorithm_from_string(std::string_view name);

/// Throws Error::usage when α or β is negative or not finite, or both are zero.
void check(const Network& network);

/// Seconds an all-reduce of `bytes` takes on `process_ranks` members; 0 for a single member or nothing to send.
///
/// ring: 2(p−1)·α + 2(p−1)/p·S·β. tree: 2⌈log₂p⌉·α + 2·S·β (not pipelined).
/// Source: Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 19 (2005).
double all_reduce_seconds(Algorithm algorithm, const Network& network, std::int64_t process_ranks, double bytes);

/// Messages one after the other in an all-reduce: what α is multiplied by.
double all_reduce_messages(Algorithm algorithm, std::int64_t process_ranks);

/// Bytes that cross a member's link, for each byte reduced: what S·β is multiplied by.
double all_reduce_traffic(Algorithm algorithm, std::int64_t process_ranks);

/// Seconds an all-gather takes in which every one of `process_ranks` members sends `bytes` of its own to all others; 0
/// for a single member or nothing to send.
///
/// ring: (p−1)·α + (p−1)·S·β. tree (recursive doubling): ⌈log₂p⌉·α + (p−1)·S·β. Source: as all_reduce_seconds.
double all_gather_seconds(Algorithm algorithm, const Network& network, std::int64_t process_ranks, double bytes);

/// What α and S·β are multiplied by in an all-gather.
double all_gather_messages(Algorithm algorithm, std::int64_t process_ranks);
double all_gather_traffic(std::int64_t process_ranks);

/// Bus bandwidth of an all-reduce, bytes a second: S / t · 2(p−1)/p, as nccl-tests defines it.
double bus_bandwidth(std::int64_t process_ranks, double bytes, double seconds);

}  // namespace psgd::model
