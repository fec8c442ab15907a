#include "libpsgd/replay/spectrum_watch.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/base/single_threaded_blas.hpp"
#include "libpsgd/metrics/optimal_error.hpp"
#include "libpsgd/metrics/rank_spread.hpp"
#include "libpsgd/metrics/spectrum_rank.hpp"
#include "libpsgd/metrics/subspace_drift.hpp"

namespace psgd::replay {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Norm of one tensor in a bucket's copy.
template <class T>
double norm_of(const std::vector<T>& values, std::int64_t begin, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[as_size(begin + i)]);
    sum += value * value;
  }
  return std::sqrt(sum);
}

}  // namespace

template <class T>
SpectrumWatch<T>::SpectrumWatch(const Stage<T>& stage, ThreadPool& pool, std::vector<std::size_t> configurations,
                                bool gradients, SpectrumAnalysis& analysis)
    : stage_(stage),
      pool_(pool),
      configurations_(std::move(configurations)),
      gradients_(gradients),
      analysis_(analysis) {
  memory_.directions.resize(stage.selection->parameters.size());
}

template <class T>
void SpectrumWatch<T>::begin_step(std::int64_t step, std::size_t index) {
  looks_ = analysis_.spec.every > 0 && static_cast<std::int64_t>(index) % analysis_.spec.every == 0;
  step_ = step;
  open_.clear();
  if (looks_ && gradients_) analysis_.steps.push_back(step);
}

template <class T>
std::size_t SpectrumWatch<T>::parameter_of(const TensorSlot& slot) const {
  const std::vector<std::size_t>& chosen = stage_.selection->parameters;
  return as_size(std::lower_bound(chosen.begin(), chosen.end(), slot.parameter) - chosen.begin());
}

template <class T>
void SpectrumWatch<T>::look_at_mean(std::size_t position, const T* mean) {
  if (!looks_ || !gradients_) return;
  std::vector<T> copy(as_size(bucket(position).length));
  stage_.backend->synchronize();
  stage_.backend->download(mean, copy);
  Tensors all;
  for (std::size_t i = 0; i < bucket(position).tensors.size(); ++i) all.push_back(i);
  look(position, copy.data(), all, std::nullopt);
}

template <class T>
void SpectrumWatch<T>::mean_error(std::size_t position, const Configuration<T>& configuration,
                                  std::vector<T>& out) const {
  const std::size_t members = configuration.members();
  std::vector<T> one(out.size());
  std::vector<double> sum(out.size(), 0.0);
  for (std::size_t member = 0; member < members; ++member) {
    stage_.backend->download(configuration.hook().error_memory(position, member), one);
    for (std::size_t i = 0; i < one.size(); ++i) sum[i] += static_cast<double>(one[i]);
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(sum[i] / static_cast<double>(members));
}

template <class T>
void SpectrumWatch<T>::keep_target(std::size_t position, const T* mean, const Configuration<T>& configuration) {
  if (!looks_) return;
  const std::size_t length = as_size(bucket(position).length);
  target_.resize(length);
  stage_.backend->synchronize();
  stage_.backend->download(mean, target_);
  if (configuration.hook().error_memory(position, 0) == nullptr) return;
  std::vector<T> error(length);
  mean_error(position, configuration, error);
  for (std::size_t i = 0; i < length; ++i) target_[i] += error[i];
}

template <class T>
void SpectrumWatch<T>::look_at_target(std::size_t position, std::size_t place, const Configuration<T>& configuration) {
  if (!looks_) return;
  const compress::BucketOutcome& outcome = configuration.hook().outcome(position);
  // Where a whole bucket is one square matrix its tensors are not compressed by themselves.
  if (outcome.rows > 0) return;
  Tensors compressed;
  for (std::size_t i = 0; i < outcome.tensors.size(); ++i) {
    if (outcome.tensors[i].compressed && outcome.tensors[i].rank > 0) compressed.push_back(i);
  }
  look(position, target_.data(), compressed, place);
}

template <class T>
std::int64_t SpectrumWatch<T>::drift_dimension(const TensorSlot& slot) const {
  const std::int64_t side = std::min(slot.rows, slot.cols);
  if (side < 2 || analysis_.ranks.empty()) return 0;
  // The whole space never drifts, so the dimension is the largest rank that leaves something out.
  for (std::size_t i = analysis_.ranks.size(); i-- > 0;) {
    if (analysis_.ranks[i] > 0 && analysis_.ranks[i] < side) return analysis_.ranks[i];
  }
  return 1;
}

template <class T>
void SpectrumWatch<T>::look(std::size_t position, const T* values, const Tensors& tensors,
                            std::optional<std::size_t> place) {
  const Bucket& here = bucket(position);
  const std::size_t first = analysis_.rows.size();
  analysis_.rows.resize(first + tensors.size());
  const std::int64_t largest_rank = analysis_.ranks.empty() ? 1 : analysis_.ranks.back();
  const SingleThreadedBlas one_thread_a_matrix;
  pool_.for_each(tensors.size(), [&](std::size_t i, std::size_t) {
    const TensorSlot& slot = here.tensors[tensors[i]];
    SpectrumRow& row = analysis_.rows[first + i];
    row.step = step_;
    row.parameter = parameter_of(slot);
    if (place) row.configuration = configurations_[*place];
    metrics::SpectrumOptions options;
    options.exact_limit = analysis_.spec.exact_limit;
    options.leading = std::max(analysis_.spec.values, largest_rank);
    if (!place) options.directions = std::min(drift_dimension(slot), options.leading);
    // A 0-dimensional parameter is a matrix of one element.
    const bool scalar = slot.rows == 0 && slot.numel == 1;
    auto spectrum =
        metrics::spectrum(values + (slot.begin - here.begin), scalar ? 1 : slot.rows, scalar ? 1 : slot.cols, options);
    row.finite = spectrum.has_value();
    if (!spectrum) return;
    describe(*spectrum, row);
    if (!place) compare_directions(*spectrum, row);
  });
  for (std::size_t i = 0; i < tensors.size(); ++i)
    open_.push_back({first + i, position, tensors[i], place.value_or(0)});
}

template <class T>
void SpectrumWatch<T>::describe(const metrics::Spectrum& spectrum, SpectrumRow& row) const {
  row.exact = spectrum.exact;
  row.norm = spectrum.norm;
  row.rest = spectrum.rest;
  const std::size_t shown = std::min(spectrum.values.size(), as_size(analysis_.spec.values));
  row.values.assign(spectrum.values.begin(), spectrum.values.begin() + static_cast<std::ptrdiff_t>(shown));
  row.tail = metrics::optimal_relative_error(spectrum, static_cast<std::int64_t>(shown)).value * spectrum.norm;
  if (spectrum.norm == 0) row.tail = 0;
  row.stable_rank = metrics::stable_rank(spectrum);
  row.effective_rank = metrics::effective_rank(spectrum);
  for (const std::int64_t rank : analysis_.ranks)
    row.optimal_errors.push_back(metrics::optimal_relative_error(spectrum, rank));
}

template <class T>
void SpectrumWatch<T>::compare_directions(metrics::Spectrum& spectrum, SpectrumRow& row) {
  std::vector<double>& before = memory_.directions[row.parameter];
  if (!before.empty() && !spectrum.directions.empty()) {
    const metrics::SubspaceDrift drift = metrics::subspace_drift(before, spectrum.directions, spectrum.cols);
    row.drift_dimension = drift.dimension;
    row.drift = drift.drift;
  }
  before = std::move(spectrum.directions);
}

template <class T>
void SpectrumWatch<T>::end_step(std::span<const std::unique_ptr<Configuration<T>>> configurations,
                                const RankMean<T>& ranks) {
  if (!looks_) return;
  for (const Open& open : open_) {
    if (analysis_.rows[open.row].configuration) {
      complete_target(open, *configurations[open.place]);
    } else {
      complete_gradient(open, ranks);
    }
  }
  open_.clear();
}

template <class T>
void SpectrumWatch<T>::complete_gradient(const Open& open, const RankMean<T>& ranks) {
  SpectrumRow& row = analysis_.rows[open.row];
  if (!row.finite) return;
  const std::size_t count = stage_.selection->process_ranks.size();
  double sum = row.norm * row.norm;
  if (count > 1) {
    sum = 0;
    for (std::size_t rank = 0; rank < count; ++rank) sum += ranks.gradient_sq(open.position, open.tensor, rank);
  }
  row.rank_spread = metrics::rank_spread(sum, row.norm * row.norm, static_cast<std::int64_t>(count));
}

template <class T>
void SpectrumWatch<T>::complete_target(const Open& open, const Configuration<T>& configuration) {
  SpectrumRow& row = analysis_.rows[open.row];
  const compress::TensorOutcome& outcome = configuration.hook().outcome(open.position).tensors[open.tensor];
  row.rank = outcome.rank;
  if (!row.finite) return;
  const Bucket& here = bucket(open.position);
  const TensorSlot& slot = here.tensors[open.tensor];
  double lost = std::sqrt(outcome.sums->difference_sq);
  if (configuration.hook().error_memory(open.position, 0) != nullptr) {
    // What the output leaves out of the mean target is the mean error memory after the step.
    if (configuration.members() == 1) {
      lost = std::sqrt(outcome.members[0].residual_sq);
    } else {
      std::vector<T> error(as_size(here.length));
      mean_error(open.position, configuration, error);
      lost = norm_of(error, slot.begin - here.begin, slot.numel);
    }
    row.residual_norm = lost;
    if (lost > 0) {
      const double first = memory_.first_residuals.try_emplace({*row.configuration, row.parameter}, lost).first->second;
      row.residual_growth = lost / first;
    }
  }
  row.relative_error = lost / row.norm;
  const auto at = std::lower_bound(analysis_.ranks.begin(), analysis_.ranks.end(), outcome.rank);
  if (at != analysis_.ranks.end() && *at == outcome.rank) {
    row.gap = metrics::optimality_gap(row.relative_error, row.optimal_errors[as_size(at - analysis_.ranks.begin())]);
  }
}

std::uint64_t spectrum_bytes(const Selection& selection, DType dtype, std::size_t threads) {
  std::int64_t longest = 0;
  std::int64_t largest = 0;
  for (const Bucket& bucket : selection.layout.buckets) {
    longest = std::max(longest, bucket.length);
    for (const TensorSlot& slot : bucket.tensors) largest = std::max(largest, slot.numel);
  }
  // The kept bucket and its error memory; of each matrix in hand a copy in double and its factors.
  return static_cast<std::uint64_t>(longest) * (2 * size_of(dtype) + sizeof(double)) +
         static_cast<std::uint64_t>(largest) * sizeof(double) * 2 * threads;
}

template class SpectrumWatch<float>;
template class SpectrumWatch<double>;

}  // namespace psgd::replay
