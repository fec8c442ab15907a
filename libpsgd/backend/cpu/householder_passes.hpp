#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/backend/cpu/kernels/kernels.hpp"
#include "libpsgd/backend/cpu/partition.hpp"
#include "libpsgd/backend/cpu/scratch.hpp"

namespace psgd::backend {

/// Householder QR by LAPACK over a list of tall factors: of each as a whole, or as a tree of panels (TSQR).
template <class T>
class HouseholderPasses {
 public:
  HouseholderPasses(ThreadPool& pool, const kernels::Kernels<T>& kernels) : distributor_(pool), kernels_(kernels) {}

  /// With `uppers`, only of the factors whose R there is not a number.
  void whole(std::span<const Factor<T>> factors, const double* uppers);
  void tree(std::span<const Factor<T>> factors);

 private:
  /// A matrix on one level of a tree: the factor itself, or the R's of the level below, one on the other.
  struct Level {
    T* data = nullptr;  ///< rows × cols, row-major
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t panels = 0;
    T* above = nullptr;  ///< panels·cols × cols: the level above; null at the top
  };
  struct Panel {
    const Level* level = nullptr;
    std::size_t number = 0;
    std::size_t elements = 0;

    [[nodiscard]] std::size_t begin() const { return number * level->rows / level->panels; }
    [[nodiscard]] std::size_t rows() const { return (number + 1) * level->rows / level->panels - begin(); }
  };
  /// Scratch of one factorization.
  struct Memory {
    T* columns = nullptr;
    std::size_t stride = 0;
    T* tau = nullptr;
    T* work = nullptr;
  };

  void plan_tree(std::span<const Factor<T>> factors);
  void factorize(T* rows_of, std::size_t rows, std::size_t cols, const Memory& memory, T* upper) const;
  void factorize_panel(const Panel& panel, std::size_t worker) const;
  void multiply_panel(const Panel& panel, std::size_t worker) const;

  Distributor distributor_;
  kernels::Kernels<T> kernels_;
  std::vector<Range> jobs_;
  std::vector<std::vector<Level>> levels_;  ///< [height]
  std::vector<std::vector<Panel>> panels_;  ///< [height]
  Scratch<T> columns_;
  Scratch<T> work_;
  Scratch<T> above_;
  T* columns_base_ = nullptr;
  T* work_base_ = nullptr;
  std::size_t columns_size_ = 0;  ///< of a worker
  std::size_t work_size_ = 0;     ///< of a worker
};

}  // namespace psgd::backend
