#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/backend/cpu/kernels/kernels.hpp"
#include "libpsgd/backend/cpu/partition.hpp"
#include "libpsgd/backend/cpu/scratch.hpp"

namespace psgd::backend {

/// The three passes of a compression step over a list of matrices: cuts them into blocks, gives each block to a kernel,
/// and adds what the blocks leave in a fixed order.
template <class T>
class MatrixPasses {
 public:
  MatrixPasses(ThreadPool& pool, const kernels::Kernels<T>& kernels) : distributor_(pool), kernels_(kernels) {}

  void project(std::span<const MatrixTask<T>> tasks, double scale);
  void back_project(std::span<const MatrixTask<T>> tasks, double scale);
  void residual(std::span<const MatrixTask<T>> tasks);

 private:
  /// A task and what this pass keeps for it.
  struct Job {
    const MatrixTask<T>* task = nullptr;
    Grid grid;
    std::size_t rank = 0;
    std::size_t q_stride = 0;     ///< of Q where it is packed
    std::size_t packed = 0;       ///< where packed_ holds Q
    std::size_t partial = 0;      ///< where partial_ holds products that are yet to be added
    std::size_t first_block = 0;  ///< in blocks_
    std::size_t block_count = 0;
  };

  void plan(std::span<const MatrixTask<T>> tasks, Grid (*grid_of)(const MatrixTask<T>&));
  void pack_q();
  double project_block(const Block& block, T scale);
  void finish_project(const Job& job, T scale);
  void back_project_block(const Block& block);
  void finish_back_project(const Range& range, T scale);
  kernels::ResidualSums residual_block(const Block& block);

  Distributor distributor_;
  kernels::Kernels<T> kernels_;
  std::vector<Job> jobs_;
  std::vector<Block> blocks_;
  std::vector<Range> ranges_;  ///< of the rows of Q
  Scratch<T> packed_;
  Scratch<T> partial_;
  Scratch<double> squares_;                   ///< of each block
  Scratch<kernels::ResidualSums> residuals_;  ///< of each block
  T* packed_base_ = nullptr;
  T* partial_base_ = nullptr;
};

}  // namespace psgd::backend
