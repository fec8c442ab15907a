#pragma once

#include <cstdint>
#include <string>

#include "libpsgd/base/log.hpp"
#include "libpsgd/base/random_state.hpp"

namespace psgd::compress {

/// What `PowerSGDState(...)` takes, under PyTorch's names.
struct PowerSGDOptions {
  std::int64_t matrix_approximation_rank = 1;
  std::int64_t start_powerSGD_iter = 2;  ///< PyTorch: 1000; a recording is short
  double min_compression_rate = 2;
  bool use_error_feedback = true;
  bool warm_start = true;
  double orthogonalization_epsilon = 0;
  std::uint32_t random_seed = 0;
  std::int64_t compression_stats_logging_frequency = 10000;
  bool batch_tensors_with_same_shape = false;

  bool operator==(const PowerSGDOptions&) const = default;
};

/// Throws Error::usage with PyTorch's message when error feedback or warm start would begin before DDP has rebuilt its
/// buckets, and for values that PyTorch fails on later (a negative rank, a rate that is not a number).
void validate(const PowerSGDOptions& options);

struct CompressionStats {
  double rate = 0;  ///< numel_before / numel_after, or 0
  std::int64_t numel_before = 0;
  std::int64_t numel_after = 0;
};

/// The scalar part of `PowerSGDState`: options, iteration, counters and the seeds' generator. (The error, P and Q
/// dictionaries belong to the hook, which knows where they lie.)
///
/// Source: torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py, class PowerSGDState.
class PowerSGDState {
 public:
  /// Validates what is given and logs the configuration line.
  PowerSGDState(const PowerSGDOptions& given, LogSink log);

  /// `compression_stats()`: cumulative over all compressed iterations.
  [[nodiscard]] CompressionStats compression_stats() const;

  /// Called once a bucket; the iteration ends with the last one.
  void maybe_increase_iter(bool is_last_bucket);

  /// `_report_compression_stats`: logs when the bucket is the last one and the next report is due.
  void maybe_report_compression_stats(bool is_last_bucket);

  void info(const std::string& line) const;

  PowerSGDOptions options;
  RandomState rng;
  std::int64_t iter = 0;
  std::int64_t total_numel_before_compression = 0;
  std::int64_t total_numel_after_compression = 0;
  std::int64_t next_stats_report = 0;

 private:
  LogSink log_;
};

}  // namespace psgd::compress
