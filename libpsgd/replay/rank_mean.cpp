#include "libpsgd/replay/rank_mean.hpp"

namespace psgd::replay {

template <class T>
RankMean<T>::RankMean(backend::Backend<T>& backend, const GradientLayout& layout, std::size_t process_ranks)
    : backend_(backend),
      layout_(layout),
      ranks_(process_ranks),
      segments_(layout),
      without_(backend, layout, segments_, process_ranks) {
  // Every bucket has a place of its own: what lies behind its length has to stay zero.
  if (ranks_ > 1) mean_ = backend_.template allocate<T>(static_cast<std::size_t>(layout_.extent));
}

template <class T>
Deviations<T>& RankMean<T>::add_deviations() {
  sets_.push_back(std::make_unique<Deviations<T>>(backend_, layout_, segments_, ranks_));
  return *sets_.back();
}

template <class T>
const T* RankMean<T>::reduce(std::size_t position, std::span<const T* const> gradients, std::span<const Part> parts) {
  if (ranks_ == 1) return gradients.front();
  backend::RankReduction<T> reduction;
  reduction.gradients = gradients;
  reduction.mean = mean_.data() + layout_.buckets[position].begin;
  reduction.segments = segments_.of(position);
  if (parts.empty()) {
    without_.join(reduction, position, {});
    latest_ = &without_;
    backend_.reduce_ranks(reduction);
  }
  for (const Part& part : parts) {
    part.deviations->join(reduction, position, part.errors);
    latest_ = part.deviations;
    backend_.reduce_ranks(reduction);
  }
  return reduction.mean;
}

template <class T>
void RankMean<T>::measure(std::size_t position, const Part& part) {
  backend::RankReduction<T> reduction;
  reduction.segments = segments_.of(position);
  part.deviations->join(reduction, position, part.errors);
  backend_.reduce_ranks(reduction);
}

template class RankMean<float>;
template class RankMean<double>;

}  // namespace psgd::replay
