#include "libpsgd/model/network_fit.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/base/error.hpp"

namespace psgd::model {
namespace {

void check(std::int64_t process_ranks, std::span<const TimedAllReduce> measurements) {
  if (process_ranks < 2) throw Error::input("an all-reduce needs at least 2 process ranks, got {}", process_ranks);
  for (const TimedAllReduce& one : measurements) {
    if (!(one.bytes > 0) || !(one.seconds > 0) || !std::isfinite(one.bytes) || !std::isfinite(one.seconds))
      throw Error::input("bytes and seconds of an all-reduce have to be positive, got {} and {}", one.bytes,
                         one.seconds);
  }
  const auto [least, most] =
      std::minmax_element(measurements.begin(), measurements.end(),
                          [](const TimedAllReduce& a, const TimedAllReduce& b) { return a.bytes < b.bytes; });
  if (measurements.size() < 2 || least->bytes == most->bytes)
    throw Error::input("two sizes of all-reduces are the least that latency and bandwidth can be told apart from");
}

/// t ≈ a + b·S with weights 1/t²: the normal equations of two unknowns. Where one comes out negative it is 0 and the
/// other is fitted alone.
struct Line {
  double a = 0;
  double b = 0;
};

Line fit(std::span<const TimedAllReduce> measurements) {
  double w = 0;
  double ws = 0;
  double wss = 0;
  double wt = 0;
  double wst = 0;
  for (const TimedAllReduce& one : measurements) {
    const double weight = 1 / (one.seconds * one.seconds);
    w += weight;
    ws += weight * one.bytes;
    wss += weight * one.bytes * one.bytes;
    wt += weight * one.seconds;
    wst += weight * one.bytes * one.seconds;
  }
  const double determinant = w * wss - ws * ws;
  const Line both{(wt * wss - ws * wst) / determinant, (w * wst - ws * wt) / determinant};
  if (both.a < 0) return {0, wst / wss};
  return both;
}

}  // namespace

NetworkFit fit_network(Algorithm algorithm, std::int64_t process_ranks, std::span<const TimedAllReduce> measurements) {
  check(process_ranks, measurements);
  const Line line = fit(measurements);
  if (!(line.b > 0)) throw Error::input("the times of the all-reduces do not grow with their size");
  NetworkFit result;
  result.network.alpha = line.a / all_reduce_messages(algorithm, process_ranks);
  result.network.beta = line.b / all_reduce_traffic(algorithm, process_ranks);
  for (const TimedAllReduce& one : measurements) {
    const double error = std::abs(line.a + line.b * one.bytes - one.seconds) / one.seconds;
    result.largest_relative_error = std::max(result.largest_relative_error, error);
  }
  return result;
}

}  // namespace psgd::model
