#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/backend/cpu/kernels/kernels.hpp"
#include "libpsgd/backend/cpu/partition.hpp"
#include "libpsgd/backend/cpu/scratch.hpp"

namespace psgd::backend {

/// The passes of Cholesky QR over a list of tall factors: cuts them into chunks of rows, takes each through a cache
/// panel by panel, and adds the chunks' Gram matrices in their order.
template <class T>
class TallPasses {
 public:
  TallPasses(ThreadPool& pool, const kernels::Kernels<T>& kernels) : distributor_(pool), kernels_(kernels) {}

  void gram(std::span<const Factor<T>> factors, double* grams);
  void cholesky(std::span<const Factor<T>> factors, double* grams, double shift);
  void solve_right(std::span<const Factor<T>> factors, const double* uppers, double* grams);

 private:
  /// How A·R⁻¹ is formed.
  enum class Solution {
    none,          ///< R is not a number: A stays
    substitution,  ///< in float64 for float64 factors: errors do not grow with the condition number
    product,       ///< with X = R⁻¹ in float64 for float32 factors, whose own rounding is far above X's errors
    correction,    ///< A + A·(R⁻¹ − I) in T, where R⁻¹ is near I
  };
  /// A factor and where its small matrices lie.
  struct Job {
    const Factor<T>* factor = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t at = 0;           ///< in the lists of small matrices
    std::size_t partial = 0;      ///< in partial_: the Gram matrix of each chunk
    std::size_t first_chunk = 0;  ///< in chunks_
    std::size_t chunk_count = 0;
    Solution solution = Solution::none;
    std::size_t correction = 0;  ///< in corrections_
  };

  void plan(std::span<const Factor<T>> factors);
  void choose_solutions(const double* uppers);
  void run(std::span<const Factor<T>> factors, const double* uppers, double* grams);
  void run_chunk(const Range& chunk, std::size_t worker, const double* uppers, bool measured);
  void run_panel(const Job& job, T* rows_of, kernels::PackedColumns<T> panel, const double* upper, double* work,
                 double* gram) const;
  void add_up(const Job& job, double* gram) const;

  Distributor distributor_;
  kernels::Kernels<T> kernels_;
  std::vector<Job> jobs_;
  std::vector<Range> chunks_;
  Scratch<double> partial_;
  Scratch<double> inverses_;
  Scratch<T> corrections_;
  Scratch<T> panels_;     ///< of each worker
  Scratch<double> work_;  ///< of each worker
  double* partial_base_ = nullptr;
  double* inverse_base_ = nullptr;
  T* correction_base_ = nullptr;
  T* panel_base_ = nullptr;
  double* work_base_ = nullptr;
  std::size_t partial_size_ = 0;
  std::size_t panel_size_ = 0;
  std::size_t work_size_ = 0;
};

}  // namespace psgd::backend
