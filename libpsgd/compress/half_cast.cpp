#include "libpsgd/compress/half_cast.hpp"

#include <algorithm>

#include "libpsgd/compress/memberwise_hook.hpp"
#include "libpsgd/tensor/half_rounding.hpp"

namespace psgd::compress {
namespace {

template <class T, class Half>
class HalfCast final : public Hook<T> {
 public:
  HalfCast(std::string_view name, const HookContext<T>& context) : Hook<T>(*context.layout), context_(context) {
    check_baseline(name, false, context);
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < context.layout->buckets.size(); ++i) {
      sums_.emplace_back(context, i);
      longest = std::max(longest, context.layout->buckets[i].length);
    }
    output_ = context.backend->template allocate<T>(static_cast<std::size_t>(longest));
  }

  void run(const BucketGradients<T>& gradients) override {
    const Bucket& bucket = context_.layout->buckets[gradients.position];
    BucketSums<T>& sums = sums_[gradients.position];
    sums.reset(this->outcomes_[gradients.position], false);
    count(bucket, this->outcomes_[gradients.position]);
    T* const output = gradients.averaged != nullptr ? gradients.averaged : output_.data();
    const auto world_size = static_cast<float>(context_.members);
    for (std::int64_t i = 0; i < bucket.length; ++i) {
      float sum = 0;
      for (std::size_t member = 0; member < context_.members; ++member) {
        const float share = Half::round(Half::round(static_cast<float>(gradients.members[member][i])) / world_size);
        sum = member == 0 ? share : Half::round(sum + share);
      }
      output[i] = static_cast<T>(sum);
    }
    sums.compare(output, gradients.mean);
  }

  [[nodiscard]] CompressionStats compression_stats() const override {
    return {after_ > 0 ? static_cast<double>(before_) / static_cast<double>(after_) : 0.0, before_, after_};
  }
  void restore_counts(std::int64_t numel_before, std::int64_t numel_after) override {
    before_ = numel_before;
    after_ = numel_after;
  }
  [[nodiscard]] T* error_memory(std::size_t, std::size_t) const override { return nullptr; }
  [[nodiscard]] bool feeds_back_now() const override { return false; }
  void allocate_memory(std::size_t, bool, bool) override {}
  [[nodiscard]] std::vector<MemoryView<T>> memory() const override { return {}; }

 private:
  void count(const Bucket& bucket, BucketOutcome& outcome) {
    outcome.compressed = true;
    outcome.bytes_sent = bytes_of(bucket.length, DType::float16);
    outcome.numel_after = elements_of(outcome.bytes_sent, bucket.dtype);
    for (TensorOutcome& tensor : outcome.tensors) {
      tensor.compressed = true;
      tensor.bytes_sent = bytes_of(tensor.numel_before, DType::float16);
      tensor.numel_after = elements_of(tensor.bytes_sent, bucket.dtype);
    }
    before_ += outcome.numel_before;
    after_ += outcome.numel_after;
    context_.communicator->record(outcome.numel_after);
  }

  HookContext<T> context_;
  std::vector<BucketSums<T>> sums_;
  backend::Buffer<T> output_;
  std::int64_t before_ = 0;
  std::int64_t after_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> float16_cast(const HookOptions& /*options*/, const HookContext<T>& context) {
  return std::make_unique<HalfCast<T, Float16>>("float16", context);
}

template <class T>
std::unique_ptr<Hook<T>> bfloat16_cast(const HookOptions& /*options*/, const HookContext<T>& context) {
  return std::make_unique<HalfCast<T, BFloat16>>("bfloat16", context);
}

template std::unique_ptr<Hook<float>> float16_cast(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> float16_cast(const HookOptions&, const HookContext<double>&);
template std::unique_ptr<Hook<float>> bfloat16_cast(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> bfloat16_cast(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
