#include "libpsgd/compress/batched_power_sgd.hpp"

#include <fmt/format.h>

#include "libpsgd/compress/square_bucket.hpp"

namespace psgd::compress {
namespace {

template <class T>
class BatchedPowerSGD final : public Hook<T> {
 public:
  BatchedPowerSGD(const HookOptions& options, const HookContext<T>& context)
      : Hook<T>(*context.layout), options_(options), context_(context), state_(options.power_sgd, context.log) {
    for (std::size_t i = 0; i < context.layout->buckets.size(); ++i) {
      buckets_.push_back({SquareBucket<T>(context, i, state_.options.matrix_approximation_rank)});
    }
  }

  void run(const BucketGradients<T>& gradients) override;
  [[nodiscard]] PowerSGDState* state() override { return &state_; }
  [[nodiscard]] CompressionStats compression_stats() const override { return state_.compression_stats(); }
  [[nodiscard]] T* error_memory(std::size_t position, std::size_t member) const override {
    const auto& errors = buckets_[position].errors;
    return errors.empty() ? nullptr : errors[member].data();
  }
  [[nodiscard]] bool feeds_back_now() const override {
    return state_.options.use_error_feedback && state_.iter >= state_.options.start_powerSGD_iter;
  }
  void allocate_memory(std::size_t position, bool error, bool factors) override;
  [[nodiscard]] std::vector<MemoryView<T>> memory() const override;

 private:
  struct BucketMemory {
    SquareBucket<T> square;
    std::vector<backend::Buffer<T>> errors;  // a member each; empty before the first error feedback
    bool factors_kept = false;               // P and Q hold a warm start's values
  };

  [[nodiscard]] const Bucket& bucket(std::size_t position) const { return context_.layout->buckets[position]; }
  void prepare_q(std::size_t position);

  HookOptions options_;
  HookContext<T> context_;
  PowerSGDState state_;
  std::vector<BucketMemory> buckets_;
};

template <class T>
void BatchedPowerSGD<T>::run(const BucketGradients<T>& gradients) {
  BucketMemory& memory = buckets_[gradients.position];
  BucketOutcome& outcome = this->outcomes_[gradients.position];
  if (state_.iter < state_.options.start_powerSGD_iter) {
    state_.maybe_increase_iter(gradients.is_last);
    memory.square.pass_through(gradients, outcome);
    return;
  }
  const Bucket& here = bucket(gradients.position);
  const std::int64_t side = memory.square.side();
  state_.total_numel_before_compression += here.length;
  state_.total_numel_after_compression += 2 * side * state_.options.matrix_approximation_rank;
  state_.maybe_report_compression_stats(gradients.is_last);
  if (state_.options.use_error_feedback && memory.errors.empty()) {
    state_.info(fmt::format("A zero tensor of length {} that represents local error is created.", side * side));
    allocate_memory(gradients.position, true, false);
  }
  prepare_q(gradients.position);
  memory.square.run(gradients, memory.errors, options_.residual,
                    {options_.orthogonalization, 0, is_half_precision(here.dtype)}, outcome);
  if (!state_.options.warm_start) memory.factors_kept = false;
  state_.maybe_increase_iter(gradients.is_last);
}

template <class T>
void BatchedPowerSGD<T>::prepare_q(std::size_t position) {
  BucketMemory& memory = buckets_[position];
  if (memory.factors_kept) return;
  if (state_.options.warm_start) {
    state_.info(fmt::format("Initializing low-rank tensors P and Q, each of which has a shape of {} x {}.",
                            memory.square.side(), state_.options.matrix_approximation_rank));
  }
  memory.square.draw_q(state_.rng.randint(1'000'000'000),
                       options_.draw_in_compute_dtype ? dtype_of<T> : bucket(position).dtype);
  memory.factors_kept = true;
}

template <class T>
void BatchedPowerSGD<T>::allocate_memory(std::size_t position, bool error, bool factors) {
  BucketMemory& memory = buckets_[position];
  const std::int64_t side = memory.square.side();
  for (std::size_t member = 0; error && member < context_.members; ++member) {
    memory.errors.push_back(context_.backend->template allocate<T>(static_cast<std::size_t>(side * side)));
  }
  if (factors) memory.factors_kept = true;
}

template <class T>
std::vector<MemoryView<T>> BatchedPowerSGD<T>::memory() const {
  using Kind = typename MemoryView<T>::Kind;
  std::vector<MemoryView<T>> views;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const BucketMemory& memory = buckets_[i];
    for (std::size_t member = 0; member < memory.errors.size(); ++member) {
      const auto error = memory.errors[member].span();
      views.push_back({Kind::error, bucket(i).index, member, error.data(), static_cast<std::int64_t>(error.size())});
    }
    if (!memory.factors_kept) continue;
    views.push_back(
        {Kind::p, bucket(i).index, 0, memory.square.p().data(), static_cast<std::int64_t>(memory.square.p().size())});
    views.push_back(
        {Kind::q, bucket(i).index, 0, memory.square.q().data(), static_cast<std::int64_t>(memory.square.q().size())});
  }
  return views;
}

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> batched_power_sgd(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<BatchedPowerSGD<T>>(options, context);
}

template std::unique_ptr<Hook<float>> batched_power_sgd(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> batched_power_sgd(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
