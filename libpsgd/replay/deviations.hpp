#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::replay {

/// The tensors of a layout as segments, bucket by bucket.
class TensorSegments {
 public:
  explicit TensorSegments(const GradientLayout& layout);

  /// Relative to the bucket's first element.
  [[nodiscard]] std::span<const backend::Segment> of(std::size_t position) const { return segments_[position]; }
  /// Number of tensors in the buckets before this one.
  [[nodiscard]] std::size_t first(std::size_t position) const { return first_[position]; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::vector<std::vector<backend::Segment>> segments_;
  std::vector<std::size_t> first_;
  std::size_t count_ = 0;
};

/// Each process rank's deviation D_w: the sum over steps, from some start on, of its gradient minus the mean.
///
/// In fused arithmetic a rank's own error memory is the mean one plus D_w, whatever the compressor did, so one set
/// serves every configuration that started at the same step. The norms of a step need D_w and the error memories as
/// that step left them; they are taken in the pass that reads D_w for the step after, or by `measure` after the last.
template <class T>
class Deviations {
 public:
  Deviations(backend::Backend<T>& backend, const GradientLayout& layout, const TensorSegments& segments,
             std::size_t process_ranks);

  /// Nothing is kept before this; from then on every reduction adds to D_w, beginning with zero.
  void begin();
  [[nodiscard]] bool begun() const noexcept { return !values_.empty(); }

  /// Adds this set's part to a reduction of the bucket at `position`; the result refers to this object until the next
  /// call.
  void join(backend::RankReduction<T>& reduction, std::size_t position, std::span<const T* const> errors);

  /// ⟨E_k, D_w⟩ and ‖D_w‖² of a tensor before the latest reduction, valid after Backend::synchronize.
  [[nodiscard]] double error_dot(std::size_t position, std::size_t tensor, std::size_t rank, std::size_t error) const;
  [[nodiscard]] double deviation_sq(std::size_t position, std::size_t tensor, std::size_t rank) const;
  [[nodiscard]] double gradient_sq(std::size_t position, std::size_t tensor, std::size_t rank) const;

  [[nodiscard]] std::size_t process_ranks() const noexcept { return ranks_; }

  /// D_w of the bucket at `position`, `capacity` elements.
  [[nodiscard]] T* value(std::size_t position, std::size_t rank) const;

 private:
  [[nodiscard]] std::size_t index(std::size_t position, std::size_t tensor, std::size_t rank) const {
    return (segments_->first(position) + tensor) * ranks_ + rank;
  }

  backend::Backend<T>* backend_;
  const GradientLayout* layout_;
  const TensorSegments* segments_;
  std::size_t ranks_;
  std::vector<backend::Buffer<T>> values_;        // a process rank each, the layout's extent
  backend::Buffer<backend::RankSums> rank_sums_;  // [tensor][rank]
  backend::Buffer<double> dots_;                  // [tensor][rank][error]
  std::size_t errors_ = 0;                        // of the latest reduction
  std::vector<T*> pointers_;                      // of the latest reduction
};

}  // namespace psgd::replay
