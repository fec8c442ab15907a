#include "libpsgd/compress/qsgd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/torch_generator.hpp"
#include "libpsgd/compress/memberwise_hook.hpp"

namespace psgd::compress {
namespace {

template <class T>
class Qsgd final : public MemberwiseHook<T> {
 public:
  Qsgd(const HookOptions& options, const HookContext<T>& context)
      : MemberwiseHook<T>({.name = "qsgd", .has_error_feedback = false, .linear = false}, options, context),
        bits_(options.baseline.quantization_bits),
        chunk_(options.baseline.quantization_chunk),
        generators_(context.members, TorchGenerator(0)) {
    if (bits_ < 2 || bits_ > 16) throw Error::usage("qsgd: an element takes 2 to 16 bits, got {}", bits_);
    if (chunk_ < 0) throw Error::usage("qsgd: the elements that share a norm must not be negative, got {}", chunk_);
  }

 private:
  [[nodiscard]] std::int64_t chunk_of(const TensorSlot& slot) const {
    return chunk_ == 0 ? std::max<std::int64_t>(slot.numel, 1) : chunk_;
  }

  [[nodiscard]] double message_bytes(const TensorSlot& slot, DType dtype) const override {
    const std::int64_t chunks = (slot.numel + chunk_of(slot) - 1) / chunk_of(slot);
    return packed_bytes(slot.numel, bits_) + static_cast<double>(chunks) * scalar_bytes(dtype);
  }

  void begin_bucket() override {
    for (TorchGenerator& generator : generators_)
      generator.manual_seed(this->shared_state().rng.randint(1'000'000'000));
  }

  void transmit(const TensorSlot& slot, std::size_t member, std::span<const T> target, std::span<T> received) override {
    const auto step = static_cast<std::size_t>(chunk_of(slot));
    for (std::size_t begin = 0; begin < target.size(); begin += step) {
      const std::size_t count = std::min(step, target.size() - begin);
      quantize(generators_[member], target.subspan(begin, count), received.subspan(begin, count));
    }
  }

  void quantize(TorchGenerator& generator, std::span<const T> target, std::span<T> received) const {
    double norm_sq = 0;
    for (const T value : target) norm_sq += static_cast<double>(value) * static_cast<double>(value);
    if (!std::isfinite(norm_sq)) {
      std::fill(received.begin(), received.end(), std::numeric_limits<T>::quiet_NaN());
      return;
    }
    const auto levels = static_cast<double>((1 << (bits_ - 1)) - 1);
    const double per_level = std::sqrt(norm_sq) / levels;
    for (std::size_t i = 0; i < target.size(); ++i) {
      const double value = std::abs(static_cast<double>(target[i]));
      const double place = per_level > 0 ? std::min(value / per_level, levels) : 0;
      const double below = std::floor(place);
      const double level = below + (static_cast<double>(generator.uniform_float()) < place - below ? 1 : 0);
      received[i] = static_cast<T>(std::copysign(per_level * level, static_cast<double>(target[i])));
    }
  }

  int bits_;
  std::int64_t chunk_;
  std::vector<TorchGenerator> generators_;
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> qsgd(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<Qsgd<T>>(options, context);
}

template std::unique_ptr<Hook<float>> qsgd(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> qsgd(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
