#include "libpsgd/compress/original_power_sgd.hpp"

#include "libpsgd/compress/square_bucket.hpp"

namespace psgd::compress {
namespace {

/// The options that make a PowerSGDState behave as the state-free original: only the seeds' generator and the counters
/// are used.
PowerSGDOptions original_options(const PowerSGDOptions& given) {
  PowerSGDOptions options;
  options.matrix_approximation_rank = given.matrix_approximation_rank;
  options.random_seed = given.random_seed;
  options.start_powerSGD_iter = 0;
  options.use_error_feedback = false;
  options.warm_start = false;
  return options;
}

template <class T>
class OriginalPowerSGD final : public Hook<T> {
 public:
  OriginalPowerSGD(const HookOptions& options, const HookContext<T>& context)
      : Hook<T>(*context.layout),
        options_(options),
        context_(context),
        state_(original_options(options.power_sgd), nullptr) {
    for (std::size_t i = 0; i < context.layout->buckets.size(); ++i) {
      buckets_.emplace_back(context, i, state_.options.matrix_approximation_rank);
    }
  }

  void run(const BucketGradients<T>& gradients) override {
    SquareBucket<T>& square = buckets_[gradients.position];
    const Bucket& bucket = context_.layout->buckets[gradients.position];
    square.draw_q(state_.rng.randint(1'000'000'000), options_.draw_in_compute_dtype ? dtype_of<T> : bucket.dtype);
    const orthogonalize::Rule rule{&orthogonalize::method("gram-schmidt"), 0, false};
    square.run(gradients, {}, Residual::averaged, rule, this->outcomes_[gradients.position]);
    state_.total_numel_before_compression += bucket.length;
    state_.total_numel_after_compression += 2 * square.side() * state_.options.matrix_approximation_rank;
    state_.maybe_increase_iter(gradients.is_last);
  }

  [[nodiscard]] PowerSGDState* state() override { return &state_; }
  [[nodiscard]] CompressionStats compression_stats() const override { return state_.compression_stats(); }
  [[nodiscard]] T* error_memory(std::size_t, std::size_t) const override { return nullptr; }
  [[nodiscard]] bool feeds_back_now() const override { return false; }
  void allocate_memory(std::size_t, bool, bool) override {}
  [[nodiscard]] std::vector<MemoryView<T>> memory() const override { return {}; }

 private:
  HookOptions options_;
  HookContext<T> context_;
  PowerSGDState state_;
  std::vector<SquareBucket<T>> buckets_;
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> original_power_sgd(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<OriginalPowerSGD<T>>(options, context);
}

template std::unique_ptr<Hook<float>> original_power_sgd(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> original_power_sgd(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
