#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::replay {

/// The mean gradient over process ranks and, in fused arithmetic, each rank's deviation D_w: the sum over steps of its gradient minus the
/// mean. A rank's own error memory is the mean one plus D_w, whatever the compressor did, so D_w serves every configuration that
/// started at the same step.
///
/// The norms of a step need D_w and the error memory as that step left them; they are taken in the same pass that reads D_w for the
/// step after.
template <class T>
class RankMean {
 public:
  RankMean(backend::Backend<T>& backend, const GradientLayout& layout, std::size_t process_ranks);

  /// Starts keeping deviations, from zero; afterwards every reduction adds to them. With one process rank there are none.
  void keep_deviations();
  [[nodiscard]] bool keeps_deviations() const noexcept { return !deviations_.empty(); }

  /// The mean over process ranks of the bucket at `position`: backend memory of its capacity, valid until the next call. `gradients`
  /// and `errors` point to the bucket. `accumulate`: the deviations take this step's part.
  const T* reduce(std::size_t position, std::span<const T* const> gradients, std::span<const T* const> errors, bool accumulate);

  /// Only measures, after the last step.
  void measure(std::size_t position, std::span<const T* const> errors);

  /// ⟨E_k, D_w⟩ and ‖D_w‖² of a tensor before the latest reduction, valid after Backend::synchronize.
  [[nodiscard]] double error_dot(std::size_t position, std::size_t tensor, std::size_t rank, std::size_t error) const;
  [[nodiscard]] const backend::RankSums& rank_sums(std::size_t position, std::size_t tensor, std::size_t rank) const;

  /// D_w of the bucket at `position`, `capacity` elements, for saving and restoring.
  [[nodiscard]] T* deviation(std::size_t position, std::size_t rank) const;

 private:
  struct BucketSegments {
    std::vector<backend::Segment> segments;
    std::size_t first = 0;  // tensor, in the step's order
  };

  [[nodiscard]] std::vector<T*> deviation_pointers(std::size_t position) const;
  [[nodiscard]] std::size_t index(std::size_t position, std::size_t tensor, std::size_t rank) const {
    return (buckets_[position].first + tensor) * ranks_ + rank;
  }
  void reserve_dots(std::size_t errors);

  backend::Backend<T>& backend_;
  const GradientLayout& layout_;
  std::size_t ranks_;
  std::vector<BucketSegments> buckets_;
  std::size_t tensors_ = 0;
  backend::Buffer<T> mean_;
  std::vector<backend::Buffer<T>> deviations_;  // a process rank each, the layout's extent
  backend::Buffer<backend::RankSums> rank_sums_;  // [tensor][rank]
  backend::Buffer<double> dots_;                  // [tensor][rank][error]
  std::size_t errors_ = 0;  // of the latest reduction
};

}  // namespace psgd::replay
