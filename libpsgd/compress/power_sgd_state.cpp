#include "libpsgd/compress/power_sgd_state.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libpsgd/base/error.hpp"

namespace psgd::compress {
namespace {

std::string_view python(bool value) { return value ? "True" : "False"; }

/// A float as Python prints it: shortest, but never without a point or an exponent.
std::string python(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

void validate(const PowerSGDOptions& options) {
  if (options.matrix_approximation_rank < 0) {
    throw Error::usage("matrix_approximation_rank must not be negative, got {}", options.matrix_approximation_rank);
  }
  if (!std::isfinite(options.min_compression_rate)) {
    throw Error::usage("min_compression_rate must be finite, got {}", options.min_compression_rate);
  }
  if (!std::isfinite(options.orthogonalization_epsilon)) {
    throw Error::usage("orthogonalization_epsilon must be finite, got {}", options.orthogonalization_epsilon);
  }
  if ((options.use_error_feedback || options.warm_start) && options.start_powerSGD_iter <= 1) {
    throw Error::usage(
        "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can "
        "only be applied "
        "after the first two iterations in DDP.");
  }
}

PowerSGDState::PowerSGDState(const PowerSGDOptions& given, LogSink log)
    : options(given), rng(given.random_seed), log_(std::move(log)) {
  validate(options);
  info(fmt::format(
      "PowerSGD config: matrix_approximation_rank = {}; start_powerSGD_iter = {}; min_compression_rate = {}; "
      "orthogonalization_epsilon = {}; use_error_feedback = {}; warm_start = {}; random_seed = {}; "
      "compression_stats_logging_frequency = {}; batch_tensors_with_same_shape = {}",
      options.matrix_approximation_rank, options.start_powerSGD_iter, options.min_compression_rate,
      options.orthogonalization_epsilon, python(options.use_error_feedback), python(options.warm_start),
      options.random_seed, options.compression_stats_logging_frequency, python(options.batch_tensors_with_same_shape)));
  options.compression_stats_logging_frequency = std::max<std::int64_t>(1, options.compression_stats_logging_frequency);
}

CompressionStats PowerSGDState::compression_stats() const {
  CompressionStats stats{0, total_numel_before_compression, total_numel_after_compression};
  if (stats.numel_after > 0)
    stats.rate = static_cast<double>(stats.numel_before) / static_cast<double>(stats.numel_after);
  return stats;
}

void PowerSGDState::maybe_increase_iter(bool is_last_bucket) {
  if (is_last_bucket) ++iter;
  if (iter == options.start_powerSGD_iter) info(fmt::format("Start to apply PowerSGD after {} iterations.", iter));
}

void PowerSGDState::maybe_report_compression_stats(bool is_last_bucket) {
  if (!is_last_bucket || iter < next_stats_report) return;
  const CompressionStats stats = compression_stats();
  info(fmt::format("Compression stats: iter {}, total before compression {}, total after compression {}, rate {}", iter,
                   stats.numel_before, stats.numel_after,
                   stats.numel_after > 0 ? python(stats.rate) : std::string("0")));
  next_stats_report = iter + options.compression_stats_logging_frequency;
}

void PowerSGDState::info(const std::string& line) const {
  if (log_) log_(LogLevel::info, line);
}

}  // namespace psgd::compress
