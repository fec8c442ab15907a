#include "libpsgd/compress/bucket_sums.hpp"

#include <algorithm>

namespace psgd::compress {

template <class T>
BucketSums<T>::BucketSums(const HookContext<T>& context, std::size_t position)
    : context_(context), position_(position) {
  const std::size_t tensors = bucket().tensors.size();
  for (std::size_t i = 0; i < tensors; ++i) segments_.push_back({begin(i), bucket().tensors[i].numel});
  tensor_sums_ = context_.backend->template allocate<backend::TensorSums>(tensors, backend::Placement::shared);
  member_sums_ =
      context_.backend->template allocate<backend::MemberSums>(tensors * context_.members, backend::Placement::shared);
}

template <class T>
void BucketSums<T>::reset(BucketOutcome& outcome, bool with_members) {
  const std::size_t tensors = bucket().tensors.size();
  std::fill_n(member_sums_.data(), member_sums_.size(), backend::MemberSums{});
  outcome.compressed = false;
  outcome.rows = 0;
  outcome.numel_before = bucket().length;
  outcome.numel_after = bucket().length;
  outcome.bytes_sent = bytes_of(bucket().length, bucket().dtype);
  outcome.p = {};
  outcome.q = {};
  outcome.tensors.assign(tensors, {});
  for (std::size_t i = 0; i < tensors; ++i) {
    TensorOutcome& tensor = outcome.tensors[i];
    tensor.numel_before = bucket().tensors[i].numel;
    tensor.numel_after = tensor.numel_before;
    tensor.bytes_sent = bytes_of(tensor.numel_after, bucket().dtype);
    tensor.sums = tensor_sums_.data() + i;
    if (with_members) tensor.members = member_sums_.span().subspan(i * context_.members, context_.members);
  }
}

template <class T>
void BucketSums<T>::pass_through(const BucketGradients<T>& gradients) {
  compare(gradients.mean, gradients.mean);
  if (gradients.averaged != nullptr) context_.backend->copy(gradients.mean, gradients.averaged, bucket().length);
}

template <class T>
void BucketSums<T>::pass_through(const BucketGradients<T>& gradients, std::span<const std::size_t> tensors) {
  std::vector<backend::Comparison<T>> comparisons;
  comparisons.reserve(tensors.size());
  for (const std::size_t i : tensors) {
    const T* mean = gradients.mean + begin(i);
    comparisons.push_back({mean, mean, segments_[i].count, tensor_sums_.data() + i});
    if (gradients.averaged != nullptr) context_.backend->copy(mean, gradients.averaged + begin(i), segments_[i].count);
  }
  context_.backend->compare(comparisons);
}

template <class T>
void BucketSums<T>::finish_uncompressed(const BucketGradients<T>& gradients, std::size_t tensor, const T* average,
                                        const std::vector<backend::Buffer<T>>& errors, Residual residual) {
  backend::Backend<T>& backend = *context_.backend;
  const std::int64_t count = bucket().tensors[tensor].numel;
  const backend::Comparison<T> comparison{average, gradients.mean + begin(tensor), count, tensor_sums_.data() + tensor};
  backend.compare({&comparison, 1});
  if (gradients.averaged != nullptr) backend.copy(average, gradients.averaged + begin(tensor), count);
  for (std::size_t member = 0; member < errors.size(); ++member) {
    T* error = errors[member].data() + begin(tensor);
    backend::MemberSums* sums = member_sums_.data() + tensor * context_.members + member;
    const backend::Segment whole{0, count};
    backend.norms(error, {&whole, 1}, &sums->target_sq, 1);
    // What a member sent uncompressed arrived whole: nothing of its own is left over.
    backend.subtract(residual == Residual::local ? error : average, error, count);
    backend.norms(error, {&whole, 1}, &sums->residual_sq, 1);
  }
}

template <class T>
void BucketSums<T>::compare(const T* output, const T* mean) {
  std::vector<backend::Comparison<T>> comparisons;
  comparisons.reserve(segments_.size());
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    comparisons.push_back(
        {output + segments_[i].begin, mean + segments_[i].begin, segments_[i].count, tensor_sums_.data() + i});
  }
  context_.backend->compare(comparisons);
}

template <class T>
void BucketSums<T>::residual_norms(const std::vector<backend::Buffer<T>>& errors) {
  constexpr std::size_t stride = sizeof(backend::MemberSums) / sizeof(double);
  for (std::size_t member = 0; member < errors.size(); ++member) {
    double* first = &member_sums_.data()[member].residual_sq;
    context_.backend->norms(errors[member].data(), segments_, first, stride * context_.members);
  }
}

template class BucketSums<float>;
template class BucketSums<double>;

}  // namespace psgd::compress
