#pragma once

#include <memory>
#include <span>
#include <vector>

#include "libpsgd/replay/deviations.hpp"

namespace psgd::replay {

/// The mean gradient over process ranks, and the sets of deviations from it that are kept in fused arithmetic. Each
/// recorded gradient is read once for both.
template <class T>
class RankMean {
 public:
  RankMean(backend::Backend<T>& backend, const GradientLayout& layout, std::size_t process_ranks);
  // The sets of deviations refer to the segments here.
  RankMean(const RankMean&) = delete;
  RankMean& operator=(const RankMean&) = delete;
  ~RankMean() = default;

  /// A further set; nothing is kept in it before it begins. With one process rank deviations are zero and need no set.
  Deviations<T>& add_deviations();

  /// A set of deviations that takes part in a reduction, and the error memories it is measured against (pointers to the
  /// bucket).
  struct Part {
    Deviations<T>* deviations = nullptr;
    std::span<const T* const> errors;
  };

  /// The mean over process ranks of the bucket at `position`: backend memory of its capacity, valid until the next
  /// call. `gradients` point to the bucket. The deviations of `parts` are measured and then take this step's share.
  const T* reduce(std::size_t position, std::span<const T* const> gradients, std::span<const Part> parts);

  /// Only measures, after the last step.
  void measure(std::size_t position, const Part& part);

  /// ‖G_w‖² of a tensor in the latest reduction, valid after Backend::synchronize. Only with several process ranks.
  [[nodiscard]] double gradient_sq(std::size_t position, std::size_t tensor, std::size_t rank) const {
    return latest_->gradient_sq(position, tensor, rank);
  }

 private:
  backend::Backend<T>& backend_;
  const GradientLayout& layout_;
  std::size_t ranks_;
  TensorSegments segments_;
  backend::Buffer<T> mean_;
  Deviations<T> without_;  // takes the sums of reductions that no set takes part in
  std::vector<std::unique_ptr<Deviations<T>>> sets_;
  const Deviations<T>* latest_ = nullptr;
};

}  // namespace psgd::replay
