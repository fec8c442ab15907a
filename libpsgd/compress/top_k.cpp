#include "libpsgd/compress/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "libpsgd/compress/memberwise_hook.hpp"
#include "libpsgd/compress/sparse.hpp"

namespace psgd::compress {
namespace {

constexpr std::int64_t longest_short_index = std::int64_t{1} << 32;

template <class T>
T magnitude(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::infinity() : std::abs(value);
}

template <class T>
class TopK final : public MemberwiseHook<T> {
 public:
  TopK(const HookOptions& options, const HookContext<T>& context)
      : MemberwiseHook<T>({.name = "top-k", .has_error_feedback = true, .linear = false}, options, context),
        fraction_(options.baseline.fraction) {
    check_fraction(fraction_);
  }

 private:
  [[nodiscard]] double message_bytes(const TensorSlot& slot, DType dtype) const override {
    const double index = slot.numel < longest_short_index ? 4 : 8;
    return static_cast<double>(sparse_count(slot.numel, fraction_)) * (static_cast<double>(size_of(dtype)) + index);
  }

  void transmit(const TensorSlot& slot, std::size_t /*member*/, std::span<const T> target,
                std::span<T> received) override {
    const auto k = static_cast<std::size_t>(sparse_count(slot.numel, fraction_));
    if (k == 0) return;
    // `received` serves to find the k-th largest magnitude first.
    std::transform(target.begin(), target.end(), received.begin(), magnitude<T>);
    const auto kth = received.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(received.begin(), kth, received.end(), std::greater<>());
    const T threshold = *kth;
    std::size_t ties =
        k - static_cast<std::size_t>(std::count_if(received.begin(), kth, [&](T value) { return value > threshold; }));
    for (std::size_t i = 0; i < target.size(); ++i) {
      const T size = magnitude(target[i]);
      const bool tied = size == threshold && ties > 0;
      if (tied) --ties;
      received[i] = tied || size > threshold ? target[i] : T{0};
    }
  }

  double fraction_;
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> top_k(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<TopK<T>>(options, context);
}

template std::unique_ptr<Hook<float>> top_k(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> top_k(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
