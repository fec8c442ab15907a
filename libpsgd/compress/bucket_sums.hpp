#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// What `elements` numbers take on the wire: they travel in the dtype of their bucket, whatever the replay computes in.
inline double bytes_of(std::int64_t elements, DType dtype) {
  return static_cast<double>(elements) * static_cast<double>(size_of(dtype));
}

/// How many elements of the bucket's dtype take as many bytes, rounded up: the count of messages that are not made of
/// elements.
inline std::int64_t elements_of(double bytes, DType dtype) {
  return static_cast<std::int64_t>(std::ceil(bytes / static_cast<double>(size_of(dtype))));
}

/// The sums that a step leaves for one bucket, and the ways of tensors and buckets that are not compressed.
template <class T>
class BucketSums {
 public:
  BucketSums() = default;
  BucketSums(const HookContext<T>& context, std::size_t position);

  /// Prepares `outcome` for a new step: nothing compressed, every tensor counted and sent with its own size.
  /// `with_members`: the members' error memories are in use, and their sums are part of the outcome.
  void reset(BucketOutcome& outcome, bool with_members);

  /// The output of every tensor, or of the given ones, is the mean gradient itself; the members' error memory there is
  /// zero.
  void pass_through(const BucketGradients<T>& gradients);
  void pass_through(const BucketGradients<T>& gradients, std::span<const std::size_t> tensors);

  /// The output of an uncompressed tensor is `average`; `errors` (a member each, or empty) hold the members' inputs and
  /// become residuals.
  void finish_uncompressed(const BucketGradients<T>& gradients, std::size_t tensor, const T* average,
                           const std::vector<backend::Buffer<T>>& errors, Residual residual);

  /// Compares a whole bucket's output with the mean gradient, tensor by tensor.
  void compare(const T* output, const T* mean);

  /// Residual norms of every tensor from the members' error memories.
  void residual_norms(const std::vector<backend::Buffer<T>>& errors);

  [[nodiscard]] backend::TensorSums* tensor_sums() const noexcept { return tensor_sums_.data(); }
  [[nodiscard]] backend::MemberSums* member_sums() const noexcept { return member_sums_.data(); }

 private:
  [[nodiscard]] const Bucket& bucket() const { return context_.layout->buckets[position_]; }
  [[nodiscard]] std::int64_t begin(std::size_t tensor) const { return bucket().tensors[tensor].begin - bucket().begin; }

  HookContext<T> context_;
  std::size_t position_ = 0;
  std::vector<backend::Segment> segments_;  // a tensor each
  backend::Buffer<backend::TensorSums> tensor_sums_;
  backend::Buffer<backend::MemberSums> member_sums_;  // [tensor][member]
};

}  // namespace psgd::compress
