#include "libpsgd/replay/hazard_watch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "libpsgd/compress/power_sgd.hpp"
#include "libpsgd/metrics/orthogonality.hpp"

namespace psgd::replay {
namespace {

using metrics::Hazard;
using metrics::HazardKind;

/// Far above what any sound method leaves and far below what a lost column gives.
template <class T>
constexpr double orthogonality_limit = sizeof(T) == sizeof(float) ? 1e-3 : 1e-8;

template <class T>
std::int64_t count_non_finite(const T* values, std::int64_t count) {
  return std::count_if(values, values + count, [](T value) { return !std::isfinite(value); });
}

Hazard whole_run(HazardKind kind, std::string text) {
  Hazard hazard;
  hazard.kind = kind;
  hazard.text = std::move(text);
  return hazard;
}

Hazard at(HazardKind kind, std::int64_t step, const std::string& parameter, std::optional<double> value,
          std::string text) {
  Hazard hazard = whole_run(kind, std::move(text));
  hazard.step = step;
  hazard.parameter = parameter;
  hazard.value = value;
  return hazard;
}

}  // namespace

template <class T>
HazardWatch<T>::HazardWatch(const dump::Description& dump, const Selection& selection,
                            const compress::HookOptions& options)
    : dump_(dump), selection_(selection), options_(options) {}

template <class T>
void HazardWatch<T>::look_at_configuration(const compress::HookEntry& hook) {
  const compress::PowerSGDOptions& power_sgd = options_.power_sgd;
  if (!dump_.complete) {
    log_.add(
        whole_run(HazardKind::incomplete_dump, "the recording was not closed properly; its last steps may be missing"));
  }
  if (dump_.grad_kind == dump::GradKind::averaged) {
    log_.add(whole_run(HazardKind::averaged_gradients,
                       "the dump holds gradients averaged over process ranks; residual norms of single process ranks "
                       "cannot be told from it"));
  }
  for (const Bucket& bucket : selection_.layout.buckets) {
    if (!is_half_precision(bucket.dtype)) continue;
    log_.add(whole_run(
        HazardKind::rounding_not_emulated,
        fmt::format(
            "gradients were recorded in {}; the replay computes and draws in wider precision and does not round where "
            "the job would",
            to_string(bucket.dtype))));
    break;
  }
  if (hook.has_power_sgd_state && (power_sgd.use_error_feedback || power_sgd.warm_start)) {
    for (std::size_t i = 1; i < selection_.step_indices.size(); ++i) {
      const std::int64_t before = dump_.steps[selection_.step_indices[i - 1]];
      const std::int64_t step = dump_.steps[selection_.step_indices[i]];
      if (step == before + 1) continue;
      Hazard hazard = whole_run(
          HazardKind::step_gaps,
          fmt::format("step {} follows step {}: replaying them as consecutive falsifies warm start and error feedback; "
                      "record every step, or turn both off",
                      step, before));
      hazard.step = step;
      hazard.value = static_cast<double>(step - before);
      log_.add(hazard);
    }
  }
  if ((hook.has_power_sgd_state || hook.name == "original") && power_sgd.matrix_approximation_rank == 0) {
    log_.add(
        whole_run(HazardKind::rank_zero, "matrix_approximation_rank is 0: the output of compressed tensors is zero"));
  }
  if (!hook.needs_matrices) return;
  for (const Bucket& bucket : selection_.layout.buckets) {
    for (const TensorSlot& slot : bucket.tensors) {
      const auto decision = compress::should_compress(slot.rows, slot.cols, power_sgd.matrix_approximation_rank,
                                                      power_sgd.min_compression_rate);
      if (!decision.compress) continue;
      if (decision.rank < power_sgd.matrix_approximation_rank) {
        Hazard hazard = whole_run(HazardKind::rank_clipped,
                                  fmt::format("a {} x {} matrix is compressed at rank {} instead of {}", slot.rows,
                                              slot.cols, decision.rank, power_sgd.matrix_approximation_rank));
        hazard.parameter = name(slot);
        hazard.value = static_cast<double>(decision.rank);
        log_.add(hazard);
      }
      if (decision.numel_after >= decision.numel_before) {
        Hazard hazard = whole_run(
            HazardKind::compression_enlarges,
            fmt::format("the factors of the {} x {} matrix have {} elements, the matrix {}; raise min_compression_rate",
                        slot.rows, slot.cols, decision.numel_after, decision.numel_before));
        hazard.parameter = name(slot);
        hazard.value = static_cast<double>(decision.numel_after);
        log_.add(hazard);
      }
    }
  }
}

template <class T>
void HazardWatch<T>::look_at_resumption(std::int64_t last_step) {
  const std::int64_t first = dump_.steps[selection_.step_indices.front()];
  if (first == last_step + 1) return;
  Hazard hazard = whole_run(HazardKind::step_gaps,
                            fmt::format("step {} follows a state saved after step {}: replaying them as consecutive "
                                        "falsifies warm start and error feedback",
                                        first, last_step));
  hazard.step = first;
  hazard.value = static_cast<double>(first - last_step);
  log_.add(hazard);
}

template <class T>
void HazardWatch<T>::look_at_loss_scale(const dump::Reader& reader) {
  if (!options_.power_sgd.use_error_feedback) return;
  std::optional<float> before;
  for (const std::size_t step_index : selection_.step_indices) {
    for (const std::int64_t rank : selection_.process_ranks) {
      const float scale = reader.loss_scale(step_index, rank);
      if (before && scale != *before) {
        Hazard hazard = whole_run(
            HazardKind::loss_scale_change,
            fmt::format("the loss scale changes from {} to {}: the error memory keeps the old scale, and nothing is "
                        "divided by it here",
                        *before, scale));
        hazard.step = dump_.steps[step_index];
        hazard.value = static_cast<double>(scale);
        log_.add(hazard);
      }
      before = scale;
    }
  }
}

template <class T>
void HazardWatch<T>::look_at_bucket(std::int64_t step, std::size_t position, const compress::BucketOutcome& outcome,
                                    const RankMean<T>& ranks, std::span<const T* const> gradients) {
  const Bucket& bucket = selection_.layout.buckets[position];
  for (std::size_t i = 0; i < bucket.tensors.size(); ++i) {
    look_at_values(step, position, i, outcome.tensors[i], ranks, gradients);
    look_at_factor(step, name(bucket.tensors[i]), outcome.tensors[i].p, "P");
    look_at_factor(step, name(bucket.tensors[i]), outcome.tensors[i].q, "Q");
  }
  if (outcome.compressed && outcome.rows > 0) {
    const std::string square = fmt::format("bucket {}", bucket.index);
    look_at_factor(step, square, outcome.p, "P");
    look_at_factor(step, square, outcome.q, "Q");
    if (outcome.numel_after >= outcome.numel_before) {
      log_.add(at(HazardKind::compression_enlarges, step, square, static_cast<double>(outcome.numel_after),
                  fmt::format("the factors of the square have {} elements, the bucket {}", outcome.numel_after,
                              outcome.numel_before)));
    }
  }
}

template <class T>
void HazardWatch<T>::look_at_values(std::int64_t step, std::size_t position, std::size_t tensor,
                                    const compress::TensorOutcome& outcome, const RankMean<T>& ranks,
                                    std::span<const T* const> gradients) {
  const Bucket& bucket = selection_.layout.buckets[position];
  const TensorSlot& slot = bucket.tensors[tensor];
  if (slot.numel == 0) return;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    const double sum = gradients.size() == 1 ? outcome.sums->gradient_sq : ranks.gradient_sq(position, tensor, rank);
    if (std::isfinite(sum)) continue;
    // A sum of squares can overflow where every element is finite.
    const std::int64_t count = count_non_finite(gradients[rank] + (slot.begin - bucket.begin), slot.numel);
    if (count == 0) continue;
    Hazard hazard = at(HazardKind::non_finite_input, step, name(slot), static_cast<double>(count),
                       fmt::format("{} of {} elements of the recorded gradient are NaN or Inf", count, slot.numel));
    hazard.process_rank = selection_.process_ranks[rank];
    log_.add(hazard);
  }
  if (!std::isfinite(outcome.sums->averaged_sq)) {
    log_.add(at(HazardKind::non_finite_output, step, name(slot), std::nullopt,
                "the averaged output holds NaN or Inf (or its norm overflows)"));
  }
  if (outcome.sums->gradient_sq == 0) {
    log_.add(at(
        HazardKind::zero_gradient, step, name(slot), 0.0,
        "the mean gradient is zero: relative errors do not exist, and Gram-Schmidt without epsilon turns it into NaN"));
  }
}

/// torch.norm sums squares in the tensor's own type, and this replay in float64: beyond float32's range they part.
template <class T>
void HazardWatch<T>::look_at_range(std::int64_t step, const std::string& parameter, const compress::FactorGrams& grams,
                                   std::string_view factor) {
  if constexpr (sizeof(T) == sizeof(double)) return;
  const bool gram_schmidt =
      options_.orthogonalization != nullptr ? options_.orthogonalization->name == "gram-schmidt" : grams.cols <= 2;
  if (!gram_schmidt) return;
  for (std::int64_t i = 0; i < grams.cols; ++i) {
    const double square = grams.before[i * grams.cols + i];
    if (square == 0 || (square >= std::numeric_limits<float>::min() && square <= std::numeric_limits<float>::max()))
      continue;
    log_.add(
        at(HazardKind::float32_range, step, parameter, std::sqrt(square),
           fmt::format("column {} of {} has the norm {:.3g}, whose square float32 cannot hold: PyTorch, which sums "
                       "squares in float32, loses digits or gets 0, Inf or NaN here",
                       i, factor, std::sqrt(square))));
    return;
  }
}

template <class T>
void HazardWatch<T>::look_at_factor(std::int64_t step, const std::string& parameter, const compress::FactorGrams& grams,
                                    std::string_view factor) {
  if (grams.cols == 0 || grams.before == nullptr) return;
  constexpr double tolerance = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());
  if (const auto column = metrics::zero_column(grams.before, grams.cols)) {
    log_.add(at(HazardKind::zero_column, step, parameter, static_cast<double>(*column),
                fmt::format("column {} of {} is zero before orthogonalization", *column, factor)));
  }
  if (const auto pair = metrics::parallel_columns(grams.before, grams.cols, tolerance)) {
    log_.add(at(HazardKind::parallel_columns, step, parameter, static_cast<double>(pair->second),
                fmt::format("columns {} and {} of {} are parallel before orthogonalization", pair->first, pair->second,
                            factor)));
  }
  look_at_range(step, parameter, grams, factor);
  const double lost = metrics::orthogonality(grams.after, grams.cols);
  if (!(lost <= orthogonality_limit<T>)) {
    log_.add(at(HazardKind::lost_orthogonality, step, parameter, lost,
                fmt::format("the columns of {} are not orthonormal after orthogonalization", factor)));
  }
}

template <class T>
void HazardWatch<T>::look_at_end(const compress::HookEntry& hook, std::int64_t compressed_steps, std::int64_t iter) {
  if (!hook.has_power_sgd_state || compressed_steps > 0) return;
  const std::int64_t start = options_.power_sgd.start_powerSGD_iter;
  if (iter > start) return;
  Hazard hazard = whole_run(
      HazardKind::start_never_reached,
      fmt::format("compression starts at iteration {} and only {} were replayed: every step was averaged uncompressed; "
                  "replay more steps, or lower start_powerSGD_iter where that is above 2",
                  start, iter));
  hazard.value = static_cast<double>(start);
  log_.add(hazard);
}

template class HazardWatch<float>;
template class HazardWatch<double>;

}  // namespace psgd::replay
