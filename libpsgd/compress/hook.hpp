#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/base/log.hpp"
#include "libpsgd/comm/communicator.hpp"
#include "libpsgd/compress/power_sgd_state.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

/// Gradient compressors, one file each, in the form of DistributedDataParallel communication hooks.
///
/// A hook sees *members*. In per-rank arithmetic a member is a process rank. In fused arithmetic there is one member,
/// the mean over all W of them, which stands for their sum by weight W: what the ranks share depends on sums alone.
namespace psgd::compress {

/// What is left in the error memory of a process rank after a step.
enum class Residual {
  averaged,  ///< its input minus the averaged output, as PyTorch
  local,     ///< its input minus its own projection P·(M_wᵀ·P)ᵀ, as the paper's text; needs per-rank arithmetic
};

/// What the baselines that are not low-rank take.
struct BaselineOptions {
  double fraction = 0.01;     ///< top-k, random-k: share of a tensor's elements that is sent, 0 < fraction <= 1
  int quantization_bits = 4;  ///< qsgd: bits of an element, its sign included, 2 … 16
  std::int64_t quantization_chunk = 512;  ///< qsgd: elements that share a norm; 0: a tensor's all

  bool operator==(const BaselineOptions&) const = default;
};

struct HookOptions {
  PowerSGDOptions power_sgd;
  BaselineOptions baseline;
  const orthogonalize::Method* orthogonalization = nullptr;  ///< null: PyTorch's rule
  Residual residual = Residual::averaged;
  bool draw_in_compute_dtype = false;  ///< random numbers in T rather than in the bucket's dtype
};

/// Where and among whom a hook works. Referenced objects outlive the hook.
template <class T>
struct HookContext {
  backend::Backend<T>* backend = nullptr;
  comm::Communicator<T>* communicator = nullptr;
  const GradientLayout* layout = nullptr;
  std::size_t members = 1;
  double member_weight = 1;  ///< process ranks that a member stands for: W in fused arithmetic, else 1
  LogSink log;
};

/// One bucket of one step. Pointers are to backend memory of the bucket's `capacity`, zero behind its `length`.
template <class T>
struct BucketGradients {
  std::size_t position = 0;           ///< in GradientLayout::buckets
  bool is_last = false;               ///< of the step
  std::span<const T* const> members;  ///< each member's gradient
  const T* mean = nullptr;            ///< the mean over process ranks, to compare with
  T* averaged = nullptr;              ///< receives the hook's output; null when nobody wants it
};

/// AᵀA in float64, cols × cols, of a factor as it came out of a product (or of randn) and after orthogonalization.
struct FactorGrams {
  std::int64_t cols = 0;
  const double* before = nullptr;
  const double* after = nullptr;
};

/// What a step did to one tensor; the sums are valid after Backend::synchronize and until the hook's next step.
struct TensorOutcome {
  bool compressed = false;
  std::int64_t rank = 0;          ///< columns of the factors, after clipping
  std::int64_t numel_before = 0;  ///< as compression_stats counts; the tensor's size when it was not compressed
  std::int64_t numel_after = 0;   ///< −1 where only the bucket has a count
  double bytes_sent =
      0;  ///< by one process rank in this step, as the wire carries it; NaN where only the bucket has a count
  const backend::TensorSums* sums = nullptr;
  std::span<const backend::MemberSums> members;  ///< empty when the hook has no error memory or has not begun
  FactorGrams p;
  FactorGrams q;
};

/// The same for a bucket as a whole.
struct BucketOutcome {
  bool compressed = false;
  std::int64_t rows = 0;  ///< of the square matrix that the batched and original hooks form; 0 with the layerwise hook
  std::int64_t numel_before = 0;
  std::int64_t numel_after = 0;
  double bytes_sent = 0;
  FactorGrams p;
  FactorGrams q;
  std::vector<TensorOutcome> tensors;  ///< as in Bucket::tensors
};

/// One array of a hook's memory, for saving and restoring.
template <class T>
struct MemoryView {
  enum class Kind { error, p, q };
  Kind kind = Kind::error;
  std::int32_t bucket = 0;  ///< Bucket::index
  std::size_t member = 0;   ///< for errors
  T* data = nullptr;        ///< backend memory
  std::int64_t count = 0;
};

template <class T>
class Hook {
 public:
  virtual ~Hook() = default;

  /// Compresses and averages one bucket; buckets come in ascending order, the last one ends the step.
  virtual void run(const BucketGradients<T>& gradients) = 0;

  /// What the latest `run` of the bucket at `position` did.
  [[nodiscard]] const BucketOutcome& outcome(std::size_t position) const { return outcomes_[position]; }

  /// Null for hooks that keep none.
  [[nodiscard]] virtual PowerSGDState* state() { return nullptr; }

  [[nodiscard]] virtual CompressionStats compression_stats() const = 0;

  /// Goes on counting from counts taken earlier. Hooks without a state override it.
  virtual void restore_counts(std::int64_t numel_before, std::int64_t numel_after) {
    state()->total_numel_before_compression = numel_before;
    state()->total_numel_after_compression = numel_after;
  }

  /// Error memory of `member` for the bucket at `position`, `capacity` elements; null without error feedback or before
  /// its start.
  [[nodiscard]] virtual T* error_memory(std::size_t position, std::size_t member) const = 0;

  /// True when the step that begins now adds to the error memory.
  [[nodiscard]] virtual bool feeds_back_now() const = 0;

  /// Makes the arrays that a saved state holds for the bucket at `position`, for restoring into.
  virtual void allocate_memory(std::size_t position, bool error, bool factors) = 0;

  /// All arrays as they stand.
  [[nodiscard]] virtual std::vector<MemoryView<T>> memory() const = 0;

 protected:
  explicit Hook(const GradientLayout& layout) : outcomes_(layout.buckets.size()) {}

  std::vector<BucketOutcome> outcomes_;
};

}  // namespace psgd::compress
