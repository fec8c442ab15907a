#include "libpsgd/compress/memberwise_hook.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/base/error.hpp"

namespace psgd::compress {
namespace {

/// The PowerSGDState parameters that mean something to a baseline; a state made from the rest behaves as if it had
/// none.
PowerSGDOptions baseline_options(const PowerSGDOptions& given, bool has_error_feedback) {
  PowerSGDOptions options;
  options.matrix_approximation_rank = given.matrix_approximation_rank;
  options.min_compression_rate = given.min_compression_rate;
  options.random_seed = given.random_seed;
  options.use_error_feedback = has_error_feedback && given.use_error_feedback;
  options.warm_start = false;
  return options;
}

std::int64_t largest(const GradientLayout& layout) {
  std::int64_t count = 0;
  for (const Bucket& bucket : layout.buckets) {
    for (const TensorSlot& slot : bucket.tensors) count = std::max(count, slot.numel);
  }
  return count;
}

}  // namespace

double packed_bytes(std::int64_t count, int bits) { return std::ceil(static_cast<double>(count) * bits / 8); }

double scalar_bytes(DType dtype) { return dtype == DType::float64 ? 8 : 4; }

template <class T>
void check_baseline(std::string_view name, bool linear, const HookContext<T>& context) {
  if (!linear && static_cast<std::int64_t>(context.members) != context.communicator->world_size()) {
    throw Error::usage("--hook {} needs --arithmetic per-rank: what it sends is not linear in the gradient", name);
  }
  if (context.backend->name() != "cpu") {
    throw Error::usage("--hook {} runs on the cpu backend only, not on {}", name, context.backend->name());
  }
}

template <class T>
MemberwiseHook<T>::MemberwiseHook(const Traits& traits, const HookOptions& options, const HookContext<T>& context)
    : Hook<T>(*context.layout),
      context_(context),
      state_(baseline_options(options.power_sgd, traits.has_error_feedback), nullptr),
      received_(context.backend->template allocate<T>(static_cast<std::size_t>(largest(*context.layout)))),
      sum_(context.backend->template allocate<T>(received_.size())) {
  // PyTorch's rule that error feedback begins after two iterations is DistributedDataParallel's, not the algorithms'.
  state_.options.start_powerSGD_iter = traits.has_error_feedback ? options.power_sgd.start_powerSGD_iter : 0;
  check_baseline(traits.name, traits.linear, context);
}

template <class T>
void MemberwiseHook<T>::plan_buckets() {
  if (!buckets_.empty()) return;
  buckets_.resize(context_.layout->buckets.size());
  for (std::size_t position = 0; position < buckets_.size(); ++position) {
    BucketMemory& memory = buckets_[position];
    memory.sums = BucketSums<T>(context_, position);
    for (std::size_t i = 0; i < bucket(position).tensors.size(); ++i) {
      (compresses(bucket(position).tensors[i]) ? memory.compressed : memory.uncompressed).push_back(i);
    }
  }
}

template <class T>
void MemberwiseHook<T>::run(const BucketGradients<T>& gradients) {
  plan_buckets();
  BucketMemory& memory = buckets_[gradients.position];
  BucketOutcome& outcome = this->outcomes_[gradients.position];
  if (state_.iter < state_.options.start_powerSGD_iter) {
    memory.sums.reset(outcome, false);
    memory.sums.pass_through(gradients);
  } else {
    memory.sums.reset(outcome, state_.options.use_error_feedback);
    if (state_.options.use_error_feedback && memory.errors.empty()) allocate_memory(gradients.position, true, false);
    count(gradients.position);
    memory.sums.pass_through(gradients, memory.uncompressed);
    begin_bucket();
    for (const std::size_t tensor : memory.compressed) run_tensor(gradients, tensor);
  }
  state_.maybe_increase_iter(gradients.is_last);
}

template <class T>
void MemberwiseHook<T>::count(std::size_t position) {
  const Bucket& here = bucket(position);
  BucketOutcome& outcome = this->outcomes_[position];
  outcome.compressed = !buckets_[position].compressed.empty();
  outcome.numel_after = 0;
  outcome.bytes_sent = 0;
  for (const std::size_t i : buckets_[position].compressed) {
    TensorOutcome& tensor = outcome.tensors[i];
    tensor.compressed = true;
    tensor.rank = factor_rank(here.tensors[i]);
    tensor.bytes_sent = message_bytes(here.tensors[i], here.dtype);
    tensor.numel_after = elements_of(tensor.bytes_sent, here.dtype);
  }
  for (const TensorOutcome& tensor : outcome.tensors) {
    outcome.numel_after += tensor.numel_after;
    outcome.bytes_sent += tensor.bytes_sent;
  }
  state_.total_numel_before_compression += outcome.numel_before;
  state_.total_numel_after_compression += outcome.numel_after;
  context_.communicator->record(outcome.numel_after);
}

template <class T>
void MemberwiseHook<T>::run_tensor(const BucketGradients<T>& gradients, std::size_t tensor) {
  backend::Backend<T>& backend = *context_.backend;
  BucketMemory& memory = buckets_[gradients.position];
  const TensorSlot& slot = bucket(gradients.position).tensors[tensor];
  const std::int64_t begin = slot.begin - bucket(gradients.position).begin;
  const auto size = static_cast<std::size_t>(slot.numel);
  const backend::Segment whole{0, slot.numel};
  begin_tensor(slot);
  for (std::size_t member = 0; member < context_.members; ++member) {
    const T* target = gradients.members[member] + begin;
    T* const error = memory.errors.empty() ? nullptr : memory.errors[member].data() + begin;
    backend::MemberSums* const sums = memory.sums.member_sums() + tensor * context_.members + member;
    if (error != nullptr) {
      backend.add(target, error, slot.numel);
      backend.norms(error, {&whole, 1}, &sums->target_sq, 1);
      target = error;
    }
    transmit(slot, member, {target, size}, received_.span().first(size));
    if (member == 0) {
      backend.copy(received_.data(), sum_.data(), slot.numel);
    } else {
      backend.add(received_.data(), sum_.data(), slot.numel);
    }
    if (error != nullptr) {
      backend.subtract(received_.data(), error, slot.numel);
      backend.norms(error, {&whole, 1}, &sums->residual_sq, 1);
    }
  }
  // A single member that stands for all process ranks is their mean already.
  if (context_.members > 1)
    backend.divide(sum_.data(), static_cast<double>(context_.communicator->world_size()), sum_.data(), slot.numel);
  const backend::Comparison<T> comparison{sum_.data(), gradients.mean + begin, slot.numel,
                                          memory.sums.tensor_sums() + tensor};
  backend.compare({&comparison, 1});
  if (gradients.averaged != nullptr) backend.copy(sum_.data(), gradients.averaged + begin, slot.numel);
}

template <class T>
T* MemberwiseHook<T>::error_memory(std::size_t position, std::size_t member) const {
  return buckets_.empty() || buckets_[position].errors.empty() ? nullptr : buckets_[position].errors[member].data();
}

template <class T>
bool MemberwiseHook<T>::feeds_back_now() const {
  return state_.options.use_error_feedback && state_.iter >= state_.options.start_powerSGD_iter;
}

template <class T>
void MemberwiseHook<T>::allocate_memory(std::size_t position, bool error, bool /*factors*/) {
  plan_buckets();
  for (std::size_t member = 0; error && member < context_.members; ++member) {
    buckets_[position].errors.push_back(
        context_.backend->template allocate<T>(static_cast<std::size_t>(bucket(position).capacity)));
  }
}

template <class T>
std::vector<MemoryView<T>> MemberwiseHook<T>::memory() const {
  std::vector<MemoryView<T>> views;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    for (std::size_t member = 0; member < buckets_[i].errors.size(); ++member) {
      views.push_back(
          {MemoryView<T>::Kind::error, bucket(i).index, member, buckets_[i].errors[member].data(), bucket(i).capacity});
    }
  }
  return views;
}

template void check_baseline(std::string_view, bool, const HookContext<float>&);
template void check_baseline(std::string_view, bool, const HookContext<double>&);
template class MemberwiseHook<float>;
template class MemberwiseHook<double>;

}  // namespace psgd::compress
