#pragma once

#include <vector>

#include "libpsgd/compress/bucket_sums.hpp"
#include "libpsgd/compress/power_iteration.hpp"

namespace psgd::compress {

/// A flat bucket compressed as one square matrix, zero-padded: what the batched and the original hooks share.
template <class T>
class SquareBucket {
 public:
  /// Throws Error::input when the square's side is smaller than `rank`: there the hooks have no orthonormal factor.
  SquareBucket(const HookContext<T>& context, std::size_t position, std::int64_t rank);

  void draw_q(std::uint32_t seed, DType draw_dtype) { iteration_.draw_q(seed, draw_dtype); }

  /// One step for all members; `errors` (a member each, side² elements) may be empty. Fills the outcome.
  void run(const BucketGradients<T>& gradients, const std::vector<backend::Buffer<T>>& errors, Residual residual,
           const orthogonalize::Rule& rule, BucketOutcome& outcome);

  /// The step of an uncompressed iteration.
  void pass_through(const BucketGradients<T>& gradients, BucketOutcome& outcome);

  [[nodiscard]] std::int64_t side() const noexcept { return side_; }
  [[nodiscard]] std::span<T> p() const noexcept { return iteration_.p(); }
  [[nodiscard]] std::span<T> q() const noexcept { return iteration_.q(); }

 private:
  std::int64_t side_ = 0;
  std::int64_t rank_ = 0;
  DType dtype_ = DType::float32;
  BucketSums<T> sums_;
  PowerIteration<T> iteration_;
  backend::Buffer<T> output_;  // the square also has to exist when nobody wants the output: tensors are slices of it
};

}  // namespace psgd::compress
