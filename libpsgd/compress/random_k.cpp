#include "libpsgd/compress/random_k.hpp"

#include <algorithm>

#include "libpsgd/base/torch_generator.hpp"
#include "libpsgd/compress/memberwise_hook.hpp"
#include "libpsgd/compress/sparse.hpp"

namespace psgd::compress {
namespace {

template <class T>
class RandomK final : public MemberwiseHook<T> {
 public:
  RandomK(const HookOptions& options, const HookContext<T>& context)
      : MemberwiseHook<T>({.name = "random-k", .has_error_feedback = true, .linear = true}, options, context),
        fraction_(options.baseline.fraction) {
    check_fraction(fraction_);
  }

 private:
  [[nodiscard]] double message_bytes(const TensorSlot& slot, DType dtype) const override {
    return bytes_of(sparse_count(slot.numel, fraction_), dtype);
  }

  void begin_bucket() override { generator_.manual_seed(this->shared_state().rng.randint(1'000'000'000)); }

  /// Selection sampling (Knuth, TAOCP 2, §3.4.2, algorithm S): ascending, one uniform an element, no memory but the
  /// choice.
  void begin_tensor(const TensorSlot& slot) override {
    chosen_.clear();
    std::int64_t wanted = sparse_count(slot.numel, fraction_);
    for (std::int64_t i = 0; wanted > 0; ++i) {
      if (generator_.uniform_double() * static_cast<double>(slot.numel - i) >= static_cast<double>(wanted)) continue;
      chosen_.push_back(i);
      --wanted;
    }
  }

  void transmit(const TensorSlot& slot, std::size_t /*member*/, std::span<const T> target,
                std::span<T> received) override {
    const bool feeds_back = this->power_sgd().use_error_feedback;
    const T scale = feeds_back || chosen_.empty()
                        ? T{1}
                        : static_cast<T>(static_cast<double>(slot.numel) / static_cast<double>(chosen_.size()));
    std::fill(received.begin(), received.end(), T{0});
    for (const std::int64_t i : chosen_)
      received[static_cast<std::size_t>(i)] = scale * target[static_cast<std::size_t>(i)];
  }

  double fraction_;
  TorchGenerator generator_{0};
  std::vector<std::int64_t> chosen_;
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> random_k(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<RandomK<T>>(options, context);
}

template std::unique_ptr<Hook<float>> random_k(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> random_k(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
