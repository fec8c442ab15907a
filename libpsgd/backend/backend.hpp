#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "libpsgd/backend/buffer.hpp"

/// The numeric operations that gradient compression needs, each a whole pass over memory.
///
/// Algorithms (compress/, orthogonalize/) are written once against `Backend`; the CPU and CUDA backends implement it.
/// All pointers are to memory from `allocate` or `stage`. Matrices and factors are dense and row-major. No operation
/// returns a number to the host: sums are left in memory placed `shared` and are valid after `synchronize`.
///
/// Norms and dot products accumulate in float64, over pieces whose number depends on the shapes alone: results are
/// bit-identical for any number of threads.
namespace psgd::backend {

/// What a step leaves behind about one tensor. With G the mean of this step's gradients over process ranks, M the
/// compressed target (G plus the error memory) and O the averaged output: sums of squares and products over the
/// tensor's elements.
struct TensorSums {
  double gradient_sq = 0;    ///< ‖G‖²
  double averaged_sq = 0;    ///< ‖O‖²
  double difference_sq = 0;  ///< ‖O − G‖²
  double dot = 0;            ///< ⟨O, G⟩
};

/// The same for one member's error memory in one tensor.
struct MemberSums {
  double target_sq = 0;    ///< ‖M‖²
  double residual_sq = 0;  ///< ‖M − M̂‖², the error memory after the step
};

/// The same for one process rank w in one tensor.
struct RankSums {
  double gradient_sq = 0;   ///< ‖G_w‖²
  double deviation_sq = 0;  ///< ‖D_w‖² before this step's update
};

/// A run of elements that is summed by itself: one tensor.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// One pass over the process ranks' gradients of a bucket.
///
/// mean ← (1/W)·Σ G_w, added in rank order. Where `deviations` are given, first takes ‖D_w‖² and ⟨E_k, D_w⟩ as they
/// stand (they belong to the step before), then D_w ← D_w + (G_w − mean). `gradients` empty: only measures.
template <class T>
struct RankReduction {
  std::span<const T* const> gradients;  ///< W pointers, `count` elements each; or empty
  std::span<T* const> deviations;       ///< W pointers, or empty
  std::span<const T* const> errors;     ///< K mean-error memories E_k to take dot products with, may be empty
  T* mean = nullptr;                    ///< may be null when `gradients` is empty
  std::span<const Segment> segments;    ///< the tensors, ascending, relative to the pointers
  RankSums* rank_sums = nullptr;        ///< [segments][W]
  double* error_dots = nullptr;         ///< [segments][W][K]: ⟨E_k, D_w⟩ before the update
};

/// One matrix of one member on its way through a compression step; the same description serves the three passes.
///
/// With error feedback `target` is the error memory: `project` adds the gradient to it, forming M in place, and
/// `residual` leaves the new error there. Without, `target` is null and M is the gradient itself.
template <class T>
struct MatrixTask {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t rank = 0;
  const T* gradient = nullptr;        ///< rows × cols
  T* target = nullptr;                ///< rows × cols, or null
  T* p = nullptr;                     ///< rows × rank
  T* q = nullptr;                     ///< cols × rank
  T* output = nullptr;                ///< rows × cols to receive P·Qᵀ, or null
  const T* reference = nullptr;       ///< rows × cols, the mean gradient to compare P·Qᵀ with, or null
  MemberSums* member_sums = nullptr;  ///< or null
  TensorSums* tensor_sums = nullptr;  ///< or null; written when `reference` is given
};

/// One tall factor of a batch, in place.
template <class T>
struct Factor {
  T* data = nullptr;  ///< rows × cols, row-major
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// The sums of an averaged output against the mean gradient, over `count` elements.
template <class T>
struct Comparison {
  const T* output = nullptr;
  const T* reference = nullptr;
  std::int64_t count = 0;
  TensorSums* sums = nullptr;
};

/// What results of operations are rounded to beside T.
enum class Rounding { none, float16, bfloat16 };

/// Where memory lies. Sums go to `shared` memory, which the host reads after `synchronize`.
enum class Placement { device, shared };

template <class T>
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Zero-filled memory for `count` values, aligned to 64 bytes. Throws Error::unavailable when there is not enough.
  template <class U>
  [[nodiscard]] Buffer<U> allocate(std::size_t count, Placement placement = Placement::device) {
    return allocate_bytes(count * sizeof(U), placement).template as<U>();
  }

  /// Memory for `count` numbers that an algorithm needs between its passes; they are lost at the next call. Kept and
  /// grown, so that after a first step nothing is allocated.
  [[nodiscard]] double* workspace(std::size_t count) {
    if (count > workspace_.size()) workspace_ = allocate<double>(count);
    return workspace_.data();
  }

  /// Where this step's gradients lie for the passes: `host` itself when the backend computes in host memory, else a
  /// copy that stays valid until the next call for the same `slot`.
  [[nodiscard]] virtual const T* stage(std::span<const T> host, std::size_t slot) = 0;

  virtual void upload(std::span<const T> host, T* destination) = 0;
  virtual void download(const T* source, std::span<T> host) = 0;

  /// Waits until everything asked for so far is done.
  virtual void synchronize() = 0;

  /// How much memory the three passes over a matrix should touch so that the second and third find it in a cache;
  /// matrices are taken through them in groups of about this size. The largest value: all at once.
  [[nodiscard]] virtual std::size_t working_set_bytes() const { return std::numeric_limits<std::size_t>::max(); }

  virtual void reduce_ranks(const RankReduction<T>& reduction) = 0;

  /// M ← target + gradient in place (or M = gradient), P ← scale·M·Q; ‖M‖² into member_sums.
  /// One read of G and E, one write of E; 2·n·m·r flops a matrix.
  virtual void project(std::span<const MatrixTask<T>> tasks, double scale) = 0;

  /// Q ← scale·Mᵀ·P. One read of M.
  virtual void back_project(std::span<const MatrixTask<T>> tasks, double scale) = 0;

  /// M̂ = P·Qᵀ; target ← M − M̂; output ← M̂; sums of the residual and of the comparison with the reference in the same
  /// pass. With `rank` 0, M̂ = 0.
  virtual void residual(std::span<const MatrixTask<T>> tasks) = 0;

  // Orthonormalizing tall factors, rows × cols each, in place. Factors without rows or columns are left alone.

  /// Modified Gram–Schmidt, column by column: divide by ‖col‖ + epsilon, then subtract its projection from the columns
  /// after it. Norms and dot products are summed in float64 and rounded to T, as is every product and difference, or
  /// to a half type where `rounding` says so.
  virtual void gram_schmidt(std::span<const Factor<T>> factors, double epsilon, Rounding rounding) = 0;

  /// Classical Gram–Schmidt, column by column: subtract the projection on all columns before, twice, then divide by
  /// ‖col‖ + epsilon. Sums are float64, each projection is rounded to T once.
  virtual void classical_gram_schmidt_twice(std::span<const Factor<T>> factors, double epsilon) = 0;

  /// Householder QR with LAPACK's signs (geqrf + orgqr). Needs rows >= cols. A factor that holds a value which is not
  /// finite becomes NaN.
  virtual void householder(std::span<const Factor<T>> factors) = 0;

  /// The same, of those factors only whose R from `cholesky` is not a number.
  virtual void householder_where_unsolved(std::span<const Factor<T>> factors, const double* uppers) = 0;

  /// The same as a tree (TSQR): QR of panels of rows, then of their R's, one on the other.
  virtual void householder_tree(std::span<const Factor<T>> factors) = 0;

  /// AᵀA of every factor in float64, row-major cols × cols, written one after the other to `grams`.
  virtual void gram(std::span<const Factor<T>> factors, double* grams) = 0;

  /// Gram matrix ← R with RᵀR = AᵀA + s·I, upper triangular with a positive diagonal, for every factor, in place.
  /// s = shift·(m·n + n·(n + 1))·2⁻⁵³·trace(AᵀA) for an m × n factor: shifts in units of what rounding does to AᵀA and
  /// R. Where there is no such R in float64, or AᵀA is not finite, every entry becomes NaN.
  virtual void cholesky(std::span<const Factor<T>> factors, double* grams, double shift) = 0;

  /// A ← A·R⁻¹ by substitution in float64, each value rounded once, and, where `grams` is not null, AᵀA of the result,
  /// in one pass. A factor whose R is NaN stays as it is, and its AᵀA becomes NaN. `uppers` and `grams` lie as
  /// those of `gram`; they are not the same memory.
  virtual void solve_right(std::span<const Factor<T>> factors, const double* uppers, double* grams) = 0;

  /// destination ← destination + source
  virtual void add(const T* source, T* destination, std::int64_t count) = 0;

  /// destination ← source / divisor; the two may be the same.
  virtual void divide(const T* source, double divisor, T* destination, std::int64_t count) = 0;

  /// destination ← destination − source
  virtual void subtract(const T* source, T* destination, std::int64_t count) = 0;

  virtual void copy(const T* source, T* destination, std::int64_t count) = 0;

  virtual void compare(std::span<const Comparison<T>> comparisons) = 0;

  /// sums[i·stride] ← sum of squares of segment i.
  virtual void norms(const T* values, std::span<const Segment> segments, double* sums, std::size_t stride) = 0;

 protected:
  [[nodiscard]] virtual Buffer<std::byte> allocate_bytes(std::size_t bytes, Placement placement) = 0;

 private:
  Buffer<double> workspace_;
};

}  // namespace psgd::backend
