#include "libpsgd/backend/cpu/tall_passes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libpsgd/backend/cpu/cholesky.hpp"
#include "libpsgd/backend/cpu/tall_partition.hpp"

namespace psgd::backend {
namespace {

/// Rows of a panel: two or three passes over it find it in the first or second-level cache.
std::size_t panel_rows(std::size_t cols) { return std::clamp<std::size_t>(8192 / cols / 64 * 64, 256, 2048); }

/// Elements from one row of a correction to the next: whole vectors of every level.
std::size_t correction_stride(std::size_t cols) { return (cols + 15) / 16 * 16; }

/// X = R⁻¹ and R are near I when no entry is farther from it than this: then A·(X − I) may be rounded like A.
constexpr double near = 1.0 / 16;

bool near_identity(const double* upper, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) {
      if (!(std::abs(upper[i * n + j] - (i == j ? 1 : 0)) <= near / static_cast<double>(n))) return false;
    }
  }
  return true;
}

}  // namespace

template <class T>
void TallPasses<T>::plan(std::span<const Factor<T>> factors) {
  jobs_.clear();
  chunks_.clear();
  partial_size_ = panel_size_ = work_size_ = 0;
  std::size_t at = 0;
  for (const Factor<T>& factor : factors) {
    Job job;
    job.factor = &factor;
    job.rows = static_cast<std::size_t>(factor.rows);
    job.cols = static_cast<std::size_t>(factor.cols);
    job.at = at;
    at += job.cols * job.cols;
    job.partial = partial_size_;
    job.first_chunk = chunks_.size();
    if (job.cols > 0) {
      cut(jobs_.size(), job.rows, chunk_rows(job.rows, job.cols), job.cols, chunks_);
      panel_size_ = std::max(panel_size_, job.cols * kernels::tall_stride<T>(panel_rows(job.cols)));
      work_size_ = std::max(work_size_, kernels::solve_work(job.cols));
    }
    job.chunk_count = chunks_.size() - job.first_chunk;
    partial_size_ += job.chunk_count * job.cols * job.cols;
    jobs_.push_back(job);
  }
  work_size_ = (work_size_ + 7) / 8 * 8;
}

template <class T>
void TallPasses<T>::gram(std::span<const Factor<T>> factors, double* grams) {
  run(factors, nullptr, grams);
}

template <class T>
void TallPasses<T>::solve_right(std::span<const Factor<T>> factors, const double* uppers, double* grams) {
  run(factors, uppers, grams);
}

template <class T>
void TallPasses<T>::choose_solutions(const double* uppers) {
  std::size_t size = 0;
  std::size_t corrections = 0;
  for (Job& job : jobs_) {
    const double* const upper = uppers + job.at;
    size = job.at + job.cols * job.cols;
    if (job.cols == 0 || std::isnan(upper[0])) continue;
    job.solution = near_identity(upper, job.cols) ? Solution::correction
                   : sizeof(T) == sizeof(double)  ? Solution::substitution
                                                  : Solution::product;
    job.correction = corrections;
    if (job.solution == Solution::correction) corrections += job.cols * correction_stride(job.cols);
  }
  inverse_base_ = inverses_.get(size);
  correction_base_ = corrections_.get(corrections);
  for (const Job& job : jobs_) {
    if (job.solution == Solution::none || job.solution == Solution::substitution) continue;
    double* const inverse = inverse_base_ + job.at;
    invert_upper(uppers + job.at, job.cols, inverse);
    if (job.solution != Solution::correction) continue;
    T* to = correction_base_ + job.correction;
    const std::size_t stride = correction_stride(job.cols);
    std::fill_n(to, job.cols * stride, T{0});
    for (std::size_t i = 0; i < job.cols; ++i) {
      for (std::size_t j = i; j < job.cols; ++j) {
        to[i * stride + j] = static_cast<T>(inverse[i * job.cols + j] - (i == j ? 1 : 0));
      }
    }
  }
}

template <class T>
void TallPasses<T>::run(std::span<const Factor<T>> factors, const double* uppers, double* grams) {
  plan(factors);
  if (uppers != nullptr) choose_solutions(uppers);
  partial_base_ = grams != nullptr ? partial_.get(partial_size_) : nullptr;
  panel_base_ = panels_.get(panel_size_ * distributor_.workers());
  work_base_ = work_.get(work_size_ * distributor_.workers());
  distributor_.for_each(chunks_, [&](std::size_t index, std::size_t worker) {
    run_chunk(chunks_[index], worker, uppers, grams != nullptr);
  });
  if (grams == nullptr) return;
  for (const Job& job : jobs_) add_up(job, grams + job.at);
}

template <class T>
void TallPasses<T>::run_chunk(const Range& chunk, std::size_t worker, const double* uppers, bool measured) {
  const Job& job = jobs_[chunk.owner];
  const double* const upper = uppers != nullptr ? uppers + job.at : nullptr;
  const bool unsolvable = upper != nullptr && job.solution == Solution::none;
  const std::size_t number = static_cast<std::size_t>(&chunk - chunks_.data()) - job.first_chunk;
  const std::size_t size = job.cols * job.cols;
  double* const gram = measured ? partial_base_ + job.partial + number * size : nullptr;
  if (measured) std::fill_n(gram, size, unsolvable ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  if (unsolvable) return;
  const std::size_t step = panel_rows(job.cols);
  kernels::PackedColumns<T> panel{panel_base_ + worker * panel_size_, kernels::tall_stride<T>(step), 0, job.cols};
  for (std::size_t begin = chunk.begin; begin < chunk.begin + chunk.count; begin += step) {
    panel.rows = std::min(step, chunk.begin + chunk.count - begin);
    run_panel(job, job.factor->data + begin * job.cols, panel, upper, work_base_ + worker * work_size_, gram);
  }
}

/// `upper` and `gram` may each be null.
template <class T>
void TallPasses<T>::run_panel(const Job& job, T* rows_of, kernels::PackedColumns<T> panel, const double* upper,
                              double* work, double* gram) const {
  const bool corrects = upper != nullptr && job.solution == Solution::correction;
  if (corrects) {
    kernels_.add_product(rows_of, panel.rows, panel.cols, correction_base_ + job.correction,
                         correction_stride(job.cols));
    if (gram == nullptr) return;
  }
  kernels_.pack(rows_of, panel.rows, panel.cols, panel.data, panel.stride);
  if (upper != nullptr && !corrects) {
    if (job.solution == Solution::product) {
      kernels_.multiply_right(panel, inverse_base_ + job.at);
    } else {
      kernels_.solve_right(panel, upper, work);
    }
    kernels_.unpack(panel.data, panel.stride, panel.rows, panel.cols, rows_of);
  }
  if (gram != nullptr) kernels_.gram(panel, gram);
}

template <class T>
void TallPasses<T>::add_up(const Job& job, double* gram) const {
  const std::size_t r = job.cols;
  std::fill_n(gram, r * r, 0.0);
  const double* part = partial_base_ + job.partial;
  for (std::size_t k = 0; k < job.chunk_count; ++k, part += r * r) {
    for (std::size_t i = 0; i < r; ++i) {
      for (std::size_t j = i; j < r; ++j) gram[i * r + j] += part[i * r + j];
    }
  }
  for (std::size_t i = 0; i < r; ++i) {
    for (std::size_t j = 0; j < i; ++j) gram[i * r + j] = gram[j * r + i];
  }
}

template <class T>
void TallPasses<T>::cholesky(std::span<const Factor<T>> factors, double* grams, double shift) {
  constexpr double roundoff = std::numeric_limits<double>::epsilon() / 2;
  double* gram = grams;
  for (const Factor<T>& factor : factors) {
    const auto n = static_cast<std::size_t>(factor.cols);
    double trace = 0;
    for (std::size_t i = 0; i < n; ++i) trace += gram[i * n + i];
    const auto terms = static_cast<double>(factor.rows * factor.cols + factor.cols * (factor.cols + 1));
    backend::cholesky(gram, n, shift * terms * roundoff * trace);
    gram += n * n;
  }
}

template class TallPasses<float>;
template class TallPasses<double>;

}  // namespace psgd::backend
