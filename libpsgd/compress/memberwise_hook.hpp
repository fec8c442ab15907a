#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "libpsgd/compress/bucket_sums.hpp"
#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// The bytes of `count` numbers of `bits` bits each, packed, rounded up.
double packed_bytes(std::int64_t count, int bits);

/// The bytes of one number beside a message (a norm): float32, or float64 where the bucket is.
double scalar_bytes(DType dtype);

/// Throws Error::usage when members have to be process ranks and are not, and for a backend that does not compute in
/// host memory.
template <class T>
void check_baseline(std::string_view name, bool linear, const HookContext<T>& context);

/// What the baselines have in common that compress every tensor of every member by itself, from messages the others
/// decode:
///
///     M_w = G_w + E_w;   output = (1/W)·Σ_w C(M_w);   E_w ← M_w − C(M_w)
///
/// where C(M_w) is what w's message decodes to. Without error feedback E_w = 0. The residual is the local one, as in
/// the papers these baselines come from: averaged over process ranks, original = output + residual. A residual of
/// output and input would be another algorithm here, because C is not linear.
///
/// Steps before `start_powerSGD_iter` are plain averages for those that have error feedback, so that they can be
/// compared with PowerSGD step by step; the others compress from the first step on. Works on host memory, without
/// threads; needs two buffers of the largest tensor's size besides the error memory.
template <class T>
class MemberwiseHook : public Hook<T> {
 public:
  void run(const BucketGradients<T>& gradients) final;
  [[nodiscard]] PowerSGDState* state() final { return &state_; }
  [[nodiscard]] CompressionStats compression_stats() const final { return state_.compression_stats(); }
  [[nodiscard]] T* error_memory(std::size_t position, std::size_t member) const final;
  [[nodiscard]] bool feeds_back_now() const final;
  void allocate_memory(std::size_t position, bool error, bool factors) final;
  [[nodiscard]] std::vector<MemoryView<T>> memory() const final;

 protected:
  struct Traits {
    std::string_view name;    ///< for messages
    bool has_error_feedback;  ///< takes use_error_feedback and start_powerSGD_iter
    bool linear;              ///< HookEntry::linear
  };

  /// Throws Error::usage when the hook is not linear and members are not process ranks.
  MemberwiseHook(const Traits& traits, const HookOptions& options, const HookContext<T>& context);

  /// False: the tensor is averaged as it is.
  [[nodiscard]] virtual bool compresses(const TensorSlot& /*slot*/) const { return true; }

  /// The rank of a low-rank message.
  [[nodiscard]] virtual std::int64_t factor_rank(const TensorSlot& /*slot*/) const { return 0; }

  /// What a process rank sends of one tensor; depends on the shape alone.
  [[nodiscard]] virtual double message_bytes(const TensorSlot& slot, DType dtype) const = 0;

  /// Called once a bucket in compressed steps, then once a tensor before its members: the time to draw random numbers.
  virtual void begin_bucket() {}
  virtual void begin_tensor(const TensorSlot& /*slot*/) {}

  /// `received` ← what member `member`'s message about `target` decodes to; both have the tensor's size.
  virtual void transmit(const TensorSlot& slot, std::size_t member, std::span<const T> target,
                        std::span<T> received) = 0;

  [[nodiscard]] const HookContext<T>& context() const noexcept { return context_; }
  [[nodiscard]] PowerSGDState& shared_state() noexcept { return state_; }
  [[nodiscard]] const PowerSGDOptions& power_sgd() const noexcept { return state_.options; }

 private:
  struct BucketMemory {
    BucketSums<T> sums;
    std::vector<backend::Buffer<T>> errors;  // a member each; empty before the first error feedback
    std::vector<std::size_t> compressed;
    std::vector<std::size_t> uncompressed;
  };

  [[nodiscard]] const Bucket& bucket(std::size_t position) const { return context_.layout->buckets[position]; }
  void plan_buckets();
  void run_tensor(const BucketGradients<T>& gradients, std::size_t tensor);
  void count(std::size_t position);

  HookContext<T> context_;
  PowerSGDState state_;
  std::vector<BucketMemory> buckets_;  // filled by the first step: the plan belongs to the class derived from this
  backend::Buffer<T> received_;
  backend::Buffer<T> sum_;
};

}  // namespace psgd::compress
