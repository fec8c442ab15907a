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

  [[nodiscard]] Spread relative_error() const { return spread(of_records_); }
  [[nodiscard]] Spread relative_error_whole_model() const { return spread(of_steps_); }
  [[nodiscard]] std::vector<ParameterSummary> parameters() const;

 private:
  struct Sums {
    ParameterSummary summary;
    double relative_error = 0;
    std::int64_t relative_errors = 0;
    std::int64_t steps = 0;
  };

  static void add_record(Sums& sums, const ParameterRecord& record);

  std::vector<double> of_records_;
  std::vector<double> of_steps_;
  std::vector<Sums> parameters_;
};

}  // namespace psgd::replay
