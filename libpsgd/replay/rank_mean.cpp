#include "libpsgd/replay/rank_mean.hpp"

#include <algorithm>

namespace psgd::replay {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

template <class T>
RankMean<T>::RankMean(backend::Backend<T>& backend, const GradientLayout& layout, std::size_t process_ranks)
    : backend_(backend), layout_(layout), ranks_(process_ranks) {
  for (const Bucket& bucket : layout_.buckets) {
    BucketSegments segments;
    segments.first = tensors_;
    for (const TensorSlot& slot : bucket.tensors) segments.segments.push_back({slot.begin - bucket.begin, slot.numel});
    tensors_ += bucket.tensors.size();
    buckets_.push_back(std::move(segments));
  }
  rank_sums_ = backend_.template allocate<backend::RankSums>(tensors_ * ranks_, backend::Placement::shared);
  // Every bucket has its own place: what lies behind its length has to stay zero.
  if (ranks_ > 1) mean_ = backend_.template allocate<T>(as_size(layout_.extent));
}

template <class T>
void RankMean<T>::keep_deviations() {
  if (ranks_ == 1 || keeps_deviations()) return;
  for (std::size_t rank = 0; rank < ranks_; ++rank) deviations_.push_back(backend_.template allocate<T>(as_size(layout_.extent)));
}

template <class T>
std::vector<T*> RankMean<T>::deviation_pointers(std::size_t position) const {
  std::vector<T*> pointers;
  for (const backend::Buffer<T>& deviation : deviations_) pointers.push_back(deviation.data() + layout_.buckets[position].begin);
  return pointers;
}

template <class T>
void RankMean<T>::reserve_dots(std::size_t errors) {
  errors_ = errors;
  const std::size_t needed = tensors_ * ranks_ * errors_;
  if (needed > dots_.size()) dots_ = backend_.template allocate<double>(needed, backend::Placement::shared);
}

template <class T>
const T* RankMean<T>::reduce(std::size_t position, std::span<const T* const> gradients, std::span<const T* const> errors, bool accumulate) {
  if (ranks_ == 1) return gradients.front();
  reserve_dots(errors.size());
  const std::vector<T*> deviations = accumulate ? deviation_pointers(position) : std::vector<T*>{};
  backend::RankReduction<T> reduction;
  reduction.gradients = gradients;
  reduction.deviations = deviations;
  if (accumulate) reduction.errors = errors;
  reduction.mean = mean_.data() + layout_.buckets[position].begin;
  reduction.segments = buckets_[position].segments;
  reduction.rank_sums = rank_sums_.data() + index(position, 0, 0);
  reduction.error_dots = dots_.data() + index(position, 0, 0) * errors_;
  backend_.reduce_ranks(reduction);
  return reduction.mean;
}

template <class T>
void RankMean<T>::measure(std::size_t position, std::span<const T* const> errors) {
  if (!keeps_deviations()) return;
  reserve_dots(errors.size());
  const std::vector<T*> deviations = deviation_pointers(position);
  backend::RankReduction<T> reduction;
  reduction.deviations = deviations;
  reduction.errors = errors;
  reduction.segments = buckets_[position].segments;
  reduction.rank_sums = rank_sums_.data() + index(position, 0, 0);
  reduction.error_dots = dots_.data() + index(position, 0, 0) * errors_;
  backend_.reduce_ranks(reduction);
}

template <class T>
double RankMean<T>::error_dot(std::size_t position, std::size_t tensor, std::size_t rank, std::size_t error) const {
  return dots_[index(position, tensor, rank) * errors_ + error];
}

template <class T>
const backend::RankSums& RankMean<T>::rank_sums(std::size_t position, std::size_t tensor, std::size_t rank) const {
  return rank_sums_[index(position, tensor, rank)];
}

template <class T>
T* RankMean<T>::deviation(std::size_t position, std::size_t rank) const {
  return deviations_[rank].data() + layout_.buckets[position].begin;
}

template class RankMean<float>;
template class RankMean<double>;

}  // namespace psgd::replay
