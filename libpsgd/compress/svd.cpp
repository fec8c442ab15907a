#include "libpsgd/compress/svd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <lapacke.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/single_threaded_blas.hpp"
#include "libpsgd/compress/memberwise_hook.hpp"
#include "libpsgd/compress/power_sgd.hpp"

namespace psgd::compress {
namespace {

/// The singular value decomposition of a row-major matrix, and the memory for it.
class Decomposition {
 public:
  /// Throws Error::internal when LAPACK does not converge. `matrix`: rows × cols, finite.
  template <class T>
  void decompose(std::span<const T> matrix, std::int64_t rows, std::int64_t cols) {
    rows_ = static_cast<std::size_t>(rows);
    cols_ = static_cast<std::size_t>(cols);
    side_ = std::min(rows_, cols_);
    matrix_.assign(matrix.begin(), matrix.end());
    values_.resize(side_);
    right_.resize(cols_ * side_);
    left_.resize(side_ * rows_);
    // To LAPACK, which goes by columns, the matrix is its transpose: the left vectors are ours on the right.
    const auto m = static_cast<lapack_int>(cols);
    const auto n = static_cast<lapack_int>(rows);
    const auto k = static_cast<lapack_int>(side_);
    const lapack_int status = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', m, n, matrix_.data(), m, values_.data(),
                                             right_.data(), m, left_.data(), k);
    if (status != 0) throw Error::internal("dgesdd on a {} x {} matrix returned {}", rows, cols, status);
  }

  /// out ← Σ over the `rank` largest singular values of σ·u·vᵀ.
  template <class T>
  void approximate(std::int64_t rank, std::span<T> out) {
    row_.resize(cols_);
    for (std::size_t i = 0; i < rows_; ++i) {
      std::fill(row_.begin(), row_.end(), 0.0);
      for (std::size_t k = 0; k < static_cast<std::size_t>(rank); ++k) {
        const double factor = values_[k] * left_[i * side_ + k];
        for (std::size_t j = 0; j < cols_; ++j) row_[j] += factor * right_[k * cols_ + j];
      }
      for (std::size_t j = 0; j < cols_; ++j) out[i * cols_ + j] = static_cast<T>(row_[j]);
    }
  }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t side_ = 0;
  std::vector<double> matrix_;
  std::vector<double> values_;
  std::vector<double> right_;  // cols × side, by columns
  std::vector<double> left_;   // side × rows, by columns
  std::vector<double> row_;
};

template <class T>
class Svd final : public MemberwiseHook<T> {
 public:
  Svd(const HookOptions& options, const HookContext<T>& context)
      : MemberwiseHook<T>({.name = "svd", .has_error_feedback = true, .linear = false}, options, context) {}

 private:
  [[nodiscard]] CompressionDecision decide(const TensorSlot& slot) const {
    return should_compress(slot.rows, slot.cols, this->power_sgd().matrix_approximation_rank,
                           this->power_sgd().min_compression_rate);
  }
  [[nodiscard]] bool compresses(const TensorSlot& slot) const override { return decide(slot).compress; }
  [[nodiscard]] std::int64_t factor_rank(const TensorSlot& slot) const override { return decide(slot).rank; }
  [[nodiscard]] double message_bytes(const TensorSlot& slot, DType dtype) const override {
    return bytes_of(decide(slot).numel_after, dtype);
  }

  void transmit(const TensorSlot& slot, std::size_t /*member*/, std::span<const T> target,
                std::span<T> received) override {
    if (!std::all_of(target.begin(), target.end(), [](T value) { return std::isfinite(value); })) {
      std::fill(received.begin(), received.end(), std::numeric_limits<T>::quiet_NaN());
      return;
    }
    const SingleThreadedBlas same_bits_for_every_number_of_threads;
    decomposition_.decompose(target, slot.rows, slot.cols);
    decomposition_.approximate(factor_rank(slot), received);
  }

  Decomposition decomposition_;
};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> svd(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<Svd<T>>(options, context);
}

template std::unique_ptr<Hook<float>> svd(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> svd(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
