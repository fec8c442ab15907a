#include "libpsgd/backend/cpu/element_passes.hpp"

#include <algorithm>

#include "libpsgd/backend/cpu/sums.hpp"

namespace psgd::backend {
namespace {

/// Elements of one part.
constexpr std::size_t part_elements = std::size_t{1} << 16;

std::size_t as_size(std::int64_t extent) { return static_cast<std::size_t>(extent); }

}  // namespace

template <class T>
void ElementPasses<T>::reduce_ranks(const RankReduction<T>& reduction) {
  const std::size_t ranks = std::max(reduction.gradients.size(), reduction.deviations.size());
  const std::size_t errors = reduction.errors.size();
  if (ranks == 0) return;
  ranges_.clear();
  for (std::size_t i = 0; i < reduction.segments.size(); ++i) {
    cut(i, as_size(reduction.segments[i].count), std::max<std::size_t>(1, part_elements / ranks), ranks, ranges_);
  }
  RankSums* const sums = rank_sums_.get(ranges_.size() * ranks);
  double* const dots = dots_.get(ranges_.size() * ranks * errors);
  const std::size_t scratch = ranks * (2 + errors) * kernels::rank_accumulator_bytes;
  std::byte* const accumulators = accumulators_.get(distributor_.workers() * scratch);
  distributor_.for_each(ranges_, [&](std::size_t index, std::size_t worker) {
    const Range& range = ranges_[index];
    kernels::RankRun<T> run;
    run.gradients = reduction.gradients.empty() ? nullptr : reduction.gradients.data();
    run.deviations = reduction.deviations.empty() ? nullptr : reduction.deviations.data();
    run.errors = reduction.errors.data();
    run.mean = reduction.mean;
    run.ranks = ranks;
    run.error_count = errors;
    run.begin = as_size(reduction.segments[range.owner].begin) + range.begin;
    run.count = range.count;
    run.sums = sums + index * ranks;
    run.dots = dots + index * ranks * errors;
    run.accumulators = accumulators + worker * scratch;
    kernels_.reduce_ranks(run);
  });
  add_rank_sums(reduction, ranks);
}

template <class T>
void ElementPasses<T>::add_rank_sums(const RankReduction<T>& reduction, std::size_t ranks) {
  const std::size_t errors = reduction.errors.size();
  const RankSums* sums = rank_sums_.get(0);
  const double* dots = dots_.get(0);
  if (reduction.rank_sums != nullptr) {
    std::fill_n(reduction.rank_sums, reduction.segments.size() * ranks, RankSums{});
  }
  if (reduction.error_dots != nullptr)
    std::fill_n(reduction.error_dots, reduction.segments.size() * ranks * errors, 0.0);
  for (const Range& range : ranges_) {
    if (reduction.rank_sums != nullptr) {
      RankSums* to = reduction.rank_sums + range.owner * ranks;
      for (std::size_t w = 0; w < ranks; ++w) {
        to[w].gradient_sq += sums[w].gradient_sq;
        to[w].deviation_sq += sums[w].deviation_sq;
      }
    }
    if (reduction.error_dots != nullptr) {
      double* to = reduction.error_dots + range.owner * ranks * errors;
      for (std::size_t i = 0; i < ranks * errors; ++i) to[i] += dots[i];
    }
    sums += ranks;
    dots += ranks * errors;
  }
}

template <class T>
void ElementPasses<T>::compare(std::span<const Comparison<T>> comparisons) {
  ranges_.clear();
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    cut(i, as_size(comparisons[i].count), part_elements, 2, ranges_);
    *comparisons[i].sums = {};
  }
  TensorSums* const sums = comparisons_.get(ranges_.size());
  distributor_.for_each(ranges_, [&](std::size_t index, std::size_t /*worker*/) {
    const Range& range = ranges_[index];
    const Comparison<T>& comparison = comparisons[range.owner];
    sums[index] = kernels_.compare(comparison.output + range.begin, comparison.reference + range.begin, range.count);
  });
  for (std::size_t i = 0; i < ranges_.size(); ++i) backend::add(sums[i], *comparisons[ranges_[i].owner].sums);
}

template <class T>
void ElementPasses<T>::norms(const T* values, std::span<const Segment> segments, double* sums, std::size_t stride) {
  ranges_.clear();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    cut(i, as_size(segments[i].count), part_elements, 1, ranges_);
    sums[i * stride] = 0;
  }
  double* const squares = squares_.get(ranges_.size());
  distributor_.for_each(ranges_, [&](std::size_t index, std::size_t /*worker*/) {
    const Range& range = ranges_[index];
    squares[index] = kernels_.sum_squares(values + segments[range.owner].begin + range.begin, range.count);
  });
  for (std::size_t i = 0; i < ranges_.size(); ++i) sums[ranges_[i].owner * stride] += squares[i];
}

/// Calls body(begin, count) for the parts of [0, count).
template <class T>
template <class Body>
void ElementPasses<T>::for_each_part(std::int64_t count, Body&& body) {
  ranges_.clear();
  cut(0, as_size(count), part_elements, 1, ranges_);
  distributor_.for_each(
      ranges_, [&](std::size_t index, std::size_t /*worker*/) { body(ranges_[index].begin, ranges_[index].count); });
}

template <class T>
void ElementPasses<T>::add(const T* source, T* destination, std::int64_t count) {
  for_each_part(count, [&](std::size_t at, std::size_t here) { kernels_.add(source + at, destination + at, here); });
}

template <class T>
void ElementPasses<T>::subtract(const T* source, T* destination, std::int64_t count) {
  for_each_part(count,
                [&](std::size_t at, std::size_t here) { kernels_.subtract(source + at, destination + at, here); });
}

template <class T>
void ElementPasses<T>::divide(const T* source, T divisor, T* destination, std::int64_t count) {
  for_each_part(
      count, [&](std::size_t at, std::size_t here) { kernels_.divide(source + at, divisor, destination + at, here); });
}

template <class T>
void ElementPasses<T>::copy(const T* source, T* destination, std::int64_t count) {
  for_each_part(count, [&](std::size_t at, std::size_t here) { std::copy_n(source + at, here, destination + at); });
}

template class ElementPasses<float>;
template class ElementPasses<double>;

}  // namespace psgd::backend
