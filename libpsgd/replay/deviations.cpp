#include "libpsgd/replay/deviations.hpp"

namespace psgd::replay {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

TensorSegments::TensorSegments(const GradientLayout& layout) {
  for (const Bucket& bucket : layout.buckets) {
    first_.push_back(count_);
    segments_.emplace_back();
    for (const TensorSlot& slot : bucket.tensors) segments_.back().push_back({slot.begin - bucket.begin, slot.numel});
    count_ += bucket.tensors.size();
  }
}

template <class T>
Deviations<T>::Deviations(backend::Backend<T>& backend, const GradientLayout& layout, const TensorSegments& segments,
                          std::size_t process_ranks)
    : backend_(&backend),
      layout_(&layout),
      segments_(&segments),
      ranks_(process_ranks),
      rank_sums_(
          backend.template allocate<backend::RankSums>(segments.count() * process_ranks, backend::Placement::shared)) {}

template <class T>
void Deviations<T>::begin() {
  if (begun()) return;
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    values_.push_back(backend_->template allocate<T>(as_size(layout_->extent)));
}

template <class T>
void Deviations<T>::join(backend::RankReduction<T>& reduction, std::size_t position, std::span<const T* const> errors) {
  reduction.rank_sums = rank_sums_.data() + index(position, 0, 0);
  if (!begun()) return;
  errors_ = errors.size();
  const std::size_t needed = segments_->count() * ranks_ * errors_;
  if (needed > dots_.size()) dots_ = backend_->template allocate<double>(needed, backend::Placement::shared);
  pointers_.clear();
  for (std::size_t rank = 0; rank < ranks_; ++rank) pointers_.push_back(value(position, rank));
  reduction.deviations = pointers_;
  reduction.errors = errors;
  reduction.error_dots = dots_.data() + index(position, 0, 0) * errors_;
}

template <class T>
double Deviations<T>::error_dot(std::size_t position, std::size_t tensor, std::size_t rank, std::size_t error) const {
  return dots_[index(position, tensor, rank) * errors_ + error];
}

template <class T>
double Deviations<T>::deviation_sq(std::size_t position, std::size_t tensor, std::size_t rank) const {
  return rank_sums_[index(position, tensor, rank)].deviation_sq;
}

template <class T>
double Deviations<T>::gradient_sq(std::size_t position, std::size_t tensor, std::size_t rank) const {
  return rank_sums_[index(position, tensor, rank)].gradient_sq;
}

template <class T>
T* Deviations<T>::value(std::size_t position, std::size_t rank) const {
  return values_[rank].data() + layout_->buckets[position].begin;
}

template class Deviations<float>;
template class Deviations<double>;

}  // namespace psgd::replay
