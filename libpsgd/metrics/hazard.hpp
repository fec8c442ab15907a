#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace psgd::metrics {

/// Something in the data or the configuration that makes a number mean less than it seems to.
enum class HazardKind {
  non_finite_input,       ///< NaN or Inf in a recorded gradient
  non_finite_output,      ///< NaN or Inf in the averaged output
  zero_gradient,          ///< the mean gradient of a parameter is zero
  zero_column,            ///< a factor has a zero column before orthogonalization
  parallel_columns,       ///< a factor has two parallel columns before orthogonalization
  lost_orthogonality,     ///< ‖QᵀQ − I‖ far above rounding after orthogonalization
  rank_clipped,           ///< a dimension is smaller than matrix_approximation_rank
  compression_enlarges,   ///< the factors have at least as many elements as the matrix
  float32_range,          ///< column norms whose squares leave float32, in which PyTorch sums them
  rank_zero,              ///< nothing is sent of the compressed tensors: their output is zero
  start_never_reached,    ///< no step was compressed
  step_gaps,              ///< steps that were not consecutive are replayed as if they were
  loss_scale_change,      ///< the loss scale changes under error feedback
  rounding_not_emulated,  ///< half precision recorded, computed in float32
  averaged_gradients,     ///< the dump holds gradients that are averaged already
  incomplete_dump,        ///< the recording was not closed properly
};

/// "non-finite-input" and so on.
std::string_view to_string(HazardKind kind);

/// One hazard, where it was first seen, and how often.
struct Hazard {
  HazardKind kind = HazardKind::non_finite_input;
  std::optional<std::int64_t> step;
  std::string parameter;  ///< "" when it concerns all
  std::optional<std::int64_t> process_rank;
  std::optional<double> value;
  std::string text;  ///< one sentence: what it means and what to do
  std::int64_t count = 1;
};

/// Collects hazards, one entry for each kind, parameter and process rank however often it is seen.
class HazardLog {
 public:
  void add(const Hazard& hazard);

  [[nodiscard]] const std::vector<Hazard>& entries() const noexcept { return entries_; }

  /// Puts entries taken earlier in the place of all.
  void restore(std::vector<Hazard> entries);

 private:
  std::vector<Hazard> entries_;
  std::map<std::tuple<HazardKind, std::string, std::int64_t>, std::size_t> known_;
};

}  // namespace psgd::metrics
