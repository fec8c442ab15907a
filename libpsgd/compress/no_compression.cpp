#include "libpsgd/compress/no_compression.hpp"

#include "libpsgd/compress/bucket_sums.hpp"

namespace psgd::compress {
namespace {

template <class T>
class NoCompression final : public Hook<T> {
 public:
  explicit NoCompression(const HookContext<T>& context) : Hook<T>(*context.layout), layout_(*context.layout) {
    for (std::size_t i = 0; i < layout_.buckets.size(); ++i) sums_.emplace_back(context, i);
  }

  void run(const BucketGradients<T>& gradients) override {
    sums_[gradients.position].reset(this->outcomes_[gradients.position], false);
    sums_[gradients.position].pass_through(gradients);
    elements_ += layout_.buckets[gradients.position].length;
  }

  [[nodiscard]] CompressionStats compression_stats() const override {
    return {elements_ > 0 ? 1.0 : 0.0, elements_, elements_};
  }
  void restore_counts(std::int64_t numel_before, std::int64_t /*numel_after*/) override { elements_ = numel_before; }
  [[nodiscard]] T* error_memory(std::size_t, std::size_t) const override { return nullptr; }
  [[nodiscard]] bool feeds_back_now() const override { return false; }
  void allocate_memory(std::size_t, bool, bool) override {}
  [[nodiscard]] std::vector<MemoryView<T>> memory() const override { return {}; }

 private:
  const GradientLayout& layout_;
  std::vector<BucketSums<T>> sums_;
  std::int64_t elements_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> no_compression(const HookOptions& /*options*/, const HookContext<T>& context) {
  return std::make_unique<NoCompression<T>>(context);
}

template std::unique_ptr<Hook<float>> no_compression(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> no_compression(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
