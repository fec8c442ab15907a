#include "libpsgd/compress/sign_norm.hpp"

#include <cmath>

#include "libpsgd/compress/memberwise_hook.hpp"

namespace psgd::compress {
namespace {

template <class T>
class SignNorm final : public MemberwiseHook<T> {
 public:
  SignNorm(const HookOptions& options, const HookContext<T>& context)
      : MemberwiseHook<T>({.name = "sign-norm", .has_error_feedback = true, .linear = false}, options, context) {}

 private:
  [[nodiscard]] double message_bytes(const TensorSlot& slot, DType dtype) const override {
    return slot.numel == 0 ? 0 : packed_bytes(slot.numel, 1) + scalar_bytes(dtype);
  }

  void transmit(const TensorSlot& slot, std::size_t /*member*/, std::span<const T> target,
                std::span<T> received) override {
    double norm = 0;
    for (const T value : target) norm += std::abs(static_cast<double>(value));
    const T scale = static_cast<T>(norm / static_cast<double>(slot.numel));
    for (std::size_t i = 0; i < target.size(); ++i) received[i] = target[i] < 0 ? -scale : scale;
  }
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> sign_norm(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<SignNorm<T>>(options, context);
}

template std::unique_ptr<Hook<float>> sign_norm(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> sign_norm(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
