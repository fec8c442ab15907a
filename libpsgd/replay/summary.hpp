#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libpsgd/replay/result.hpp"

namespace psgd::replay {

/// Mean, median and maximum; all NaN when there are no values. A value that is not finite counts as larger than every
/// other, and what comes out infinite is NaN: an output that is lost must not make the rest look better.
Spread spread(std::vector<double> values);

/// Median; NaN when empty.
double median(std::vector<double> values);

/// One parameter over the steps of a configuration.
struct ParameterSummary {
  std::int64_t compressed_steps = 0;
  double mean_difference_sq = 0;  ///< ‖O − G‖², mean over compressed steps; 0 when there are none
  double mean_gradient_sq = 0;    ///< ‖G‖², over the same steps
  double mean_gradient_sq_all_steps = 0;
  double mean_relative_error =
      0;  ///< over the same steps where it exists; NaN when there are none, or an output is lost
  std::int64_t numel_before = 0;
  std::int64_t numel_after = 0;  ///< of a compressed step; −1 where only the bucket has a count
  std::int64_t rank = 0;
  double mean_bytes_sent = 0;  ///< of a compressed step, by a process rank; NaN where only the bucket has a count
  std::int64_t non_finite_gradients = 0;     ///< steps in which its mean gradient holds NaN or infinity
  std::vector<double> first_residual_norms;  ///< the first of each process rank that is not zero; 0 when there is none
  std::vector<double> last_residual_norms;
};

/// Gathers errors step by step, so that records need not be kept.
///
/// Gradients that an output cannot be compared with take no part: zero ones, and those that were recorded with NaN or
/// Inf (a parameter's is then missing in its step's error of the whole model).
class ErrorSummary {
 public:
  /// The records of one step, in the dump's order of parameters.
  void add_step(std::span<const ParameterRecord> records);

  [[nodiscard]] Spread relative_error() const { return spread(series_.of_records); }
  [[nodiscard]] Spread relative_error_whole_model() const { return spread(series_.of_steps); }
  /// The same without parameters whose gradient has held NaN or infinity, which error feedback keeps. An output that is
  /// lost although its gradient was finite counts.
  [[nodiscard]] Spread relative_error_sound_model() const { return spread(series_.of_sound_parts); }
  [[nodiscard]] std::vector<ParameterSummary> parameters() const;

  /// One parameter's sums on their way to means.
  struct Sums {
    ParameterSummary summary;
    double relative_error = 0;
    std::int64_t relative_errors = 0;
    std::int64_t steps = 0;
  };

  /// Everything gathered so far, for saving and restoring.
  struct Series {
    std::vector<double> of_records;
    std::vector<double> of_steps;
    std::vector<double> of_sound_parts;
    std::vector<Sums> parameters;
  };
  [[nodiscard]] Series& series() noexcept { return series_; }

 private:
  static void add_record(Sums& sums, const ParameterRecord& record);

  Series series_;
};

}  // namespace psgd::replay
