#include "libpsgd/compress/square_bucket.hpp"

#include <limits>

#include "libpsgd/base/error.hpp"

namespace psgd::compress {
namespace {

std::int64_t checked_side(const Bucket& bucket, std::int64_t rank) {
  const std::int64_t side = square_side(bucket.length);
  if (side < rank) {
    throw Error::input(
        "bucket {} has {} elements: a square of side {}, smaller than matrix_approximation_rank {}; lower the rank",
        bucket.index, bucket.length, side, rank);
  }
  return side;
}

}  // namespace

template <class T>
SquareBucket<T>::SquareBucket(const HookContext<T>& context, std::size_t position, std::int64_t rank)
    : side_(checked_side(context.layout->buckets[position], rank)),
      rank_(rank),
      dtype_(context.layout->buckets[position].dtype),
      sums_(context, position),
      iteration_(context, {MatrixPlan{side_, side_, rank, 0, 0}}, {DrawGroup{0, 1}}),
      output_(context.backend->template allocate<T>(static_cast<std::size_t>(side_ * side_))) {}

template <class T>
void SquareBucket<T>::run(const BucketGradients<T>& gradients, const std::vector<backend::Buffer<T>>& errors,
                          Residual residual, const orthogonalize::Rule& rule, BucketOutcome& outcome) {
  sums_.reset(outcome, !errors.empty());
  std::vector<T*> error_pointers;
  error_pointers.reserve(errors.size());
  for (const backend::Buffer<T>& error : errors) error_pointers.push_back(error.data());
  IterationStep<T> step;
  step.gradients = gradients.members;
  step.errors = error_pointers;
  step.output = gradients.averaged != nullptr ? gradients.averaged : output_.data();
  step.residual = residual;
  iteration_.run(step, rule);

  sums_.compare(step.output, gradients.mean);
  sums_.residual_norms(errors);
  outcome.compressed = true;
  outcome.rows = side_;
  outcome.numel_after = 2 * side_ * rank_;
  outcome.bytes_sent = bytes_of(outcome.numel_after, dtype_);
  outcome.p = iteration_.p_grams(0);
  outcome.q = iteration_.q_grams(0);
  for (TensorOutcome& tensor : outcome.tensors) {
    tensor.compressed = true;
    tensor.rank = rank_;
    tensor.numel_after = -1;
    tensor.bytes_sent = std::numeric_limits<double>::quiet_NaN();
  }
}

template <class T>
void SquareBucket<T>::pass_through(const BucketGradients<T>& gradients, BucketOutcome& outcome) {
  sums_.reset(outcome, false);
  sums_.pass_through(gradients);
}

template class SquareBucket<float>;
template class SquareBucket<double>;

}  // namespace psgd::compress
