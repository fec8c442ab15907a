#include "libpsgd/backend/cpu/matrix_passes.hpp"

#include <algorithm>

#include "libpsgd/backend/cpu/sums.hpp"

namespace psgd::backend {
namespace {

/// Elements of a matrix that make a block: few enough to share out evenly, enough that a kernel's start does not count.
constexpr std::size_t block_elements = std::size_t{1} << 17;

/// Rows of Q that are packed or added together.
constexpr std::size_t factor_rows = 4096;

std::size_t as_size(std::int64_t extent) { return static_cast<std::size_t>(extent); }

constexpr std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/// Blocks as wide as the matrix, unless it is so wide that few rows would fill one. The rows of a block meet each part
/// of Q while it is in the cache, and are a multiple of what the kernels take at once.
template <class T>
Grid row_grid(const MatrixTask<T>& task) {
  constexpr std::size_t widest = 16384;
  constexpr std::size_t lowest = 48;
  const std::size_t cols = as_size(task.cols);
  const std::size_t col_step = std::max<std::size_t>(1, std::min(cols, widest));
  return {as_size(task.rows), cols, std::max(lowest, round_up(block_elements / col_step, 12)), col_step};
}

/// High rather than wide blocks: each row of blocks leaves a Q to be added.
template <class T>
Grid col_grid(const MatrixTask<T>& task) {
  constexpr std::size_t widest = 1024;
  constexpr std::size_t lowest = 256;
  const std::size_t cols = as_size(task.cols);
  const std::size_t col_step = std::max<std::size_t>(1, std::min(cols, widest));
  return {as_size(task.rows), cols, std::max(lowest, round_up(block_elements / col_step, 16)), col_step};
}

template <class T>
const T* matrix_of(const MatrixTask<T>& task) {
  return task.target != nullptr ? task.target : task.gradient;
}

}  // namespace

template <class T>
void MatrixPasses<T>::plan(std::span<const MatrixTask<T>> tasks, Grid (*grid_of)(const MatrixTask<T>&)) {
  jobs_.clear();
  blocks_.clear();
  for (const MatrixTask<T>& task : tasks) {
    Job job;
    job.task = &task;
    job.grid = grid_of(task);
    job.rank = as_size(task.rank);
    job.q_stride = kernels::packed_stride<T>(as_size(task.cols));
    job.first_block = blocks_.size();
    job.grid.cut(jobs_.size(), blocks_);
    job.block_count = blocks_.size() - job.first_block;
    jobs_.push_back(job);
  }
}

template <class T>
void MatrixPasses<T>::pack_q() {
  ranges_.clear();
  std::size_t size = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    job.packed = size;
    size += job.rank * job.q_stride;
    if (job.rank > 0) cut(i, job.grid.cols, factor_rows, job.rank, ranges_);
  }
  packed_base_ = packed_.get(size);
  distributor_.for_each(ranges_, [this](std::size_t index, std::size_t /*worker*/) {
    const Range& range = ranges_[index];
    const Job& job = jobs_[range.owner];
    kernels_.pack(job.task->q + range.begin * job.rank, range.count, job.rank, packed_base_ + job.packed + range.begin,
                  job.q_stride);
  });
}

template <class T>
void MatrixPasses<T>::project(std::span<const MatrixTask<T>> tasks, double scale) {
  plan(tasks, row_grid<T>);
  pack_q();
  std::size_t size = 0;
  for (Job& job : jobs_) {
    job.partial = size;
    if (job.grid.col_blocks() > 1) size += job.grid.col_blocks() * job.grid.rows * job.rank;
  }
  partial_base_ = partial_.get(size);
  double* const squares = squares_.get(blocks_.size());
  const auto factor = static_cast<T>(scale);
  distributor_.for_each(blocks_, [&](std::size_t index, std::size_t /*worker*/) {
    squares[index] = project_block(blocks_[index], factor);
  });
  for (const Job& job : jobs_) {
    finish_project(job, factor);
    if (job.task->member_sums == nullptr) continue;
    double sum = 0;
    for (std::size_t i = 0; i < job.block_count; ++i) sum += squares[job.first_block + i];
    job.task->member_sums->target_sq = sum;
  }
}

template <class T>
double MatrixPasses<T>::project_block(const Block& block, T scale) {
  const Job& job = jobs_[block.owner];
  const MatrixTask<T>& task = *job.task;
  const bool whole_rows = job.grid.col_blocks() == 1;
  const std::size_t at = block.row * job.grid.cols + block.col;
  kernels::ProjectBlock<T> work;
  work.gradient = task.gradient + at;
  work.target = task.target != nullptr ? task.target + at : nullptr;
  work.stride = job.grid.cols;
  work.rows = block.rows;
  work.cols = block.cols;
  work.rank = job.rank;
  work.q = packed_base_ + job.packed + block.col;
  work.q_stride = job.q_stride;
  const std::size_t block_of_row = block.col / job.grid.col_step;
  work.p = (whole_rows ? task.p : partial_base_ + job.partial + block_of_row * job.grid.rows * job.rank) +
           block.row * job.rank;
  work.measured = task.member_sums != nullptr;
  const double square = kernels_.project(work);
  if (whole_rows) kernels_.scale(work.p, scale, work.p, block.rows * job.rank);
  return square;
}

/// Adds the products of a matrix that was cut into columns. (One without columns was not cut at all.)
template <class T>
void MatrixPasses<T>::finish_project(const Job& job, T scale) {
  const std::size_t size = job.grid.rows * job.rank;
  const std::size_t parts = job.grid.col_blocks();
  if (parts == 0) std::fill_n(job.task->p, size, T{0});
  if (parts <= 1) return;
  T* sum = partial_base_ + job.partial;
  for (std::size_t part = 1; part < parts; ++part) kernels_.add(sum + part * size, sum, size);
  kernels_.scale(sum, scale, job.task->p, size);
}

template <class T>
void MatrixPasses<T>::back_project(std::span<const MatrixTask<T>> tasks, double scale) {
  plan(tasks, col_grid<T>);
  ranges_.clear();
  std::size_t size = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    job.partial = size;
    size += job.grid.row_blocks() * job.rank * job.q_stride;
    if (job.rank > 0) cut(i, job.grid.cols, factor_rows, job.rank * (job.grid.row_blocks() + 1), ranges_);
  }
  partial_base_ = partial_.get(size);
  distributor_.for_each(blocks_,
                        [this](std::size_t index, std::size_t /*worker*/) { back_project_block(blocks_[index]); });
  const auto factor = static_cast<T>(scale);
  distributor_.for_each(
      ranges_, [&](std::size_t index, std::size_t /*worker*/) { finish_back_project(ranges_[index], factor); });
}

template <class T>
void MatrixPasses<T>::back_project_block(const Block& block) {
  const Job& job = jobs_[block.owner];
  kernels::BackProjectBlock<T> work;
  work.matrix = matrix_of(*job.task) + block.row * job.grid.cols + block.col;
  work.stride = job.grid.cols;
  work.rows = block.rows;
  work.cols = block.cols;
  work.rank = job.rank;
  work.p = job.task->p + block.row * job.rank;
  work.q = partial_base_ + job.partial + block.row / job.grid.row_step * job.rank * job.q_stride + block.col;
  work.q_stride = job.q_stride;
  kernels_.back_project(work);
}

/// Adds a range of rows of Q over the rows of blocks, in their order.
template <class T>
void MatrixPasses<T>::finish_back_project(const Range& range, T scale) {
  const Job& job = jobs_[range.owner];
  T* to = job.task->q + range.begin * job.rank;
  const std::size_t parts = job.grid.row_blocks();
  if (parts == 0) {
    std::fill_n(to, range.count * job.rank, T{0});
    return;
  }
  T* sum = partial_base_ + job.partial + range.begin;
  for (std::size_t k = 0; k < job.rank; ++k) {
    T* column = sum + k * job.q_stride;
    for (std::size_t part = 1; part < parts; ++part) {
      kernels_.add(column + part * job.rank * job.q_stride, column, range.count);
    }
    kernels_.scale(column, scale, column, range.count);
  }
  kernels_.unpack(sum, job.q_stride, range.count, job.rank, to);
}

template <class T>
void MatrixPasses<T>::residual(std::span<const MatrixTask<T>> tasks) {
  plan(tasks, row_grid<T>);
  pack_q();
  kernels::ResidualSums* const residuals = residuals_.get(blocks_.size());
  distributor_.for_each(
      blocks_, [&](std::size_t index, std::size_t /*worker*/) { residuals[index] = residual_block(blocks_[index]); });
  for (const Job& job : jobs_) {
    kernels::ResidualSums sums;
    for (std::size_t i = 0; i < job.block_count; ++i) {
      sums.residual_sq += residuals[job.first_block + i].residual_sq;
      add(residuals[job.first_block + i].tensor, sums.tensor);
    }
    const MatrixTask<T>& task = *job.task;
    if (task.member_sums != nullptr) task.member_sums->residual_sq = sums.residual_sq;
    if (task.tensor_sums != nullptr && task.reference != nullptr) *task.tensor_sums = sums.tensor;
  }
}

template <class T>
kernels::ResidualSums MatrixPasses<T>::residual_block(const Block& block) {
  const Job& job = jobs_[block.owner];
  const MatrixTask<T>& task = *job.task;
  const std::size_t at = block.row * job.grid.cols + block.col;
  kernels::ResidualBlock<T> work;
  work.matrix = matrix_of(task) + at;
  work.target = task.target != nullptr ? task.target + at : nullptr;
  work.output = task.output != nullptr ? task.output + at : nullptr;
  work.reference = task.reference != nullptr ? task.reference + at : nullptr;
  work.stride = job.grid.cols;
  work.rows = block.rows;
  work.cols = block.cols;
  work.rank = job.rank;
  work.p = task.p + block.row * job.rank;
  work.q = packed_base_ + job.packed + block.col;
  work.q_stride = job.q_stride;
  return kernels_.residual(work);
}

template class MatrixPasses<float>;
template class MatrixPasses<double>;

}  // namespace psgd::backend
