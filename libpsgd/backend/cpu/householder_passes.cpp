#include "libpsgd/backend/cpu/householder_passes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libpsgd/backend/cpu/lapack.hpp"
#include "libpsgd/base/single_threaded_blas.hpp"

namespace psgd::backend {
namespace {

/// Panels of a matrix of a tree: at most 8192 elements, which lie in a cache and which OpenBLAS does not share out
/// among threads of its own (so that results do not depend on their number); and up to twice as high as wide, so that
/// every level halves what is left.
std::size_t panel_count(std::size_t rows, std::size_t cols) {
  const std::size_t highest = std::max(2 * cols, 8192 / cols);
  return std::max<std::size_t>((rows + highest - 1) / highest, 1);
}

template <class T>
bool all_finite(const T* values, std::size_t count) {
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) finite &= std::abs(values[i]) <= std::numeric_limits<T>::max();
  return finite;
}

std::size_t whole_lines(std::size_t elements) { return (elements + 15) / 16 * 16; }

}  // namespace

/// A ← Q in place and, where `upper` is not null, R there (row-major, zeros below). What is not finite makes everything
/// NaN: LAPACK would leave the columns before it alone.
template <class T>
void HouseholderPasses<T>::factorize(T* rows_of, std::size_t rows, std::size_t cols, const Memory& memory,
                                     T* upper) const {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  if (!all_finite(rows_of, rows * cols)) {
    std::fill_n(rows_of, rows * cols, nan);
    if (upper != nullptr) std::fill_n(upper, cols * cols, nan);
    return;
  }
  const auto m = static_cast<lapack_int>(rows);
  const auto n = static_cast<lapack_int>(cols);
  const auto lda = static_cast<lapack_int>(memory.stride);
  const auto size = static_cast<lapack_int>(lapack::qr_work(cols));
  kernels_.pack(rows_of, rows, cols, memory.columns, memory.stride);
  lapack::geqrf(m, n, memory.columns, lda, memory.tau, memory.work, size);
  if (upper != nullptr) {
    for (std::size_t i = 0; i < cols; ++i) {
      for (std::size_t j = 0; j < cols; ++j) upper[i * cols + j] = j < i ? T{0} : memory.columns[j * memory.stride + i];
    }
  }
  lapack::orgqr(m, n, memory.columns, lda, memory.tau, memory.work, size);
  kernels_.unpack(memory.columns, memory.stride, rows, cols, rows_of);
}

template <class T>
void HouseholderPasses<T>::whole(std::span<const Factor<T>> factors, const double* uppers) {
  jobs_.clear();
  std::size_t size = 0;
  std::size_t widest = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto rows = static_cast<std::size_t>(factors[i].rows);
    const auto cols = static_cast<std::size_t>(factors[i].cols);
    if (rows * cols > 0 && (uppers == nullptr || std::isnan(uppers[at]))) {
      jobs_.push_back({i, size, rows, rows * cols});
      size += cols * kernels::tall_stride<T>(rows);
      widest = std::max(widest, cols);
    }
    at += cols * cols;
  }
  if (jobs_.empty()) return;
  const SingleThreadedBlas single_threaded;
  columns_base_ = columns_.get(size);
  work_size_ = whole_lines(widest + lapack::qr_work(widest));
  work_base_ = work_.get(work_size_ * distributor_.workers());
  distributor_.for_each(jobs_, [&](std::size_t index, std::size_t worker) {
    const Factor<T>& factor = factors[jobs_[index].owner];
    const auto rows = static_cast<std::size_t>(factor.rows);
    const auto cols = static_cast<std::size_t>(factor.cols);
    T* const tau = work_base_ + worker * work_size_;
    factorize(factor.data, rows, cols,
              {columns_base_ + jobs_[index].begin, kernels::tall_stride<T>(rows), tau, tau + widest}, nullptr);
  });
}

/// Lays the levels of all trees out, those of equal height together.
template <class T>
void HouseholderPasses<T>::plan_tree(std::span<const Factor<T>> factors) {
  for (auto& level : levels_) level.clear();
  for (auto& panels : panels_) panels.clear();
  std::size_t stacked = 0;
  std::size_t widest = 0;
  columns_size_ = 0;
  for (const bool placing : {false, true}) {
    T* above = placing ? above_.get(stacked) : nullptr;
    for (const Factor<T>& factor : factors) {
      Level level{factor.data, static_cast<std::size_t>(factor.rows), static_cast<std::size_t>(factor.cols)};
      if (level.rows * level.cols == 0) continue;
      for (std::size_t height = 0; level.panels != 1; ++height) {
        level.panels = panel_count(level.rows, level.cols);
        const std::size_t next = level.panels == 1 ? 0 : level.panels * level.cols;
        level.above = next == 0 ? nullptr : above;
        if (placing) {
          if (levels_.size() <= height) levels_.resize(height + 1);
          levels_[height].push_back(level);
          above += next * level.cols;
        } else {
          const std::size_t highest = (level.rows + level.panels - 1) / level.panels;
          columns_size_ = std::max(columns_size_, level.cols * kernels::tall_stride<T>(highest));
          widest = std::max(widest, level.cols);
          stacked += next * level.cols;
        }
        if (level.panels > 1) level = {level.above, next, level.cols};
      }
    }
  }
  work_size_ = whole_lines(widest + std::max(lapack::qr_work(widest), widest * kernels::packed_stride<T>(widest)));
  panels_.resize(levels_.size());
  for (std::size_t height = 0; height < levels_.size(); ++height) {
    for (const Level& level : levels_[height]) {
      for (std::size_t i = 0; i < level.panels; ++i) {
        panels_[height].push_back({&level, i, level.rows / level.panels * level.cols});
      }
    }
  }
}

template <class T>
void HouseholderPasses<T>::factorize_panel(const Panel& panel, std::size_t worker) const {
  const std::size_t cols = panel.level->cols;
  T* const columns = columns_base_ + worker * columns_size_;
  T* const tau = work_base_ + worker * work_size_;
  T* const upper = panel.level->above == nullptr ? nullptr : panel.level->above + panel.number * cols * cols;
  factorize(panel.level->data + panel.begin() * cols, panel.rows(), cols,
            {columns, kernels::tall_stride<T>(panel.rows()), tau, tau + cols}, upper);
}

/// Q of the panel ← Q·S, where S is the panel's square in Q of the level above.
template <class T>
void HouseholderPasses<T>::multiply_panel(const Panel& panel, std::size_t worker) const {
  const std::size_t cols = panel.level->cols;
  T* const rows_of = panel.level->data + panel.begin() * cols;
  T* const square = work_base_ + worker * work_size_;
  const std::size_t stride = kernels::packed_stride<T>(cols);
  kernels_.pack(panel.level->above + panel.number * cols * cols, cols, cols, square, stride);
  kernels::ProjectBlock<T> product;
  product.gradient = rows_of;
  product.stride = cols;
  product.rows = panel.rows();
  product.cols = cols;
  product.rank = cols;
  product.q = square;
  product.q_stride = stride;
  product.p = columns_base_ + worker * columns_size_;
  kernels_.project(product);
  std::copy_n(product.p, product.rows * cols, rows_of);
}

template <class T>
void HouseholderPasses<T>::tree(std::span<const Factor<T>> factors) {
  plan_tree(factors);
  const SingleThreadedBlas single_threaded;
  columns_base_ = columns_.get(columns_size_ * distributor_.workers());
  work_base_ = work_.get(work_size_ * distributor_.workers());
  for (const auto& panels : panels_) {
    distributor_.for_each(panels,
                          [&](std::size_t index, std::size_t worker) { factorize_panel(panels[index], worker); });
  }
  for (auto panels = panels_.rbegin(); panels != panels_.rend(); ++panels) {
    distributor_.for_each(*panels, [&](std::size_t index, std::size_t worker) {
      if ((*panels)[index].level->above != nullptr) multiply_panel((*panels)[index], worker);
    });
  }
}

template class HouseholderPasses<float>;
template class HouseholderPasses<double>;

}  // namespace psgd::backend
