#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/backend/cpu/kernels/kernels.hpp"
#include "libpsgd/backend/cpu/partition.hpp"
#include "libpsgd/backend/cpu/scratch.hpp"

namespace psgd::backend {

/// Gram–Schmidt over a list of tall factors. Works on packed copies, whose columns are contiguous. A factor of one
/// chunk of rows is done by one thread from start to end; the others advance together, column by column, their chunks
/// shared out and the chunks' sums added in their order.
template <class T>
class GramSchmidtPasses {
 public:
  GramSchmidtPasses(ThreadPool& pool, const kernels::Kernels<T>& kernels) : distributor_(pool), kernels_(kernels) {}

  void modified(std::span<const Factor<T>> factors, double epsilon, Rounding rounding);
  void classical_twice(std::span<const Factor<T>> factors, double epsilon);

 private:
  struct Job {
    const Factor<T>* factor = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;
    kernels::PackedColumns<T> columns;
    std::size_t first_part = 0;  ///< in shared_ or single_
    std::size_t part_count = 0;
    double* sums = nullptr;  ///< [cols]: what the parts left, added
    T* multiples = nullptr;  ///< [cols]: the same, rounded
    T norm = 0;
    std::size_t elements = 0;
  };
  /// A chunk of rows of a job.
  struct Part {
    Job* job = nullptr;
    std::size_t begin = 0;
    std::size_t count = 0;
    double* sums = nullptr;  ///< [cols]
    std::size_t elements = 0;
  };
  class Crew;

  void plan(std::span<const Factor<T>> factors);
  void place_jobs();
  template <class Algorithm>
  void run(std::span<const Factor<T>> factors, Algorithm algorithm);

  void run_modified(Crew& crew, T epsilon) const;
  void run_classical_twice(Crew& crew, T epsilon) const;
  void subtract_projections(Crew& crew, std::size_t column) const;
  void pack(const Part& part) const;
  void unpack(const Part& part) const;
  void divide(const Part& part, std::size_t column) const;
  void measure(const Part& part, std::size_t column) const;

  Distributor distributor_;
  kernels::Kernels<T> kernels_;
  std::vector<Job> jobs_;     ///< those of several parts first
  std::vector<Part> shared_;  ///< of the jobs of several parts
  std::vector<Part> single_;  ///< of the others, one each
  Scratch<T> columns_;
  Scratch<double> sums_;
  Scratch<T> multiples_;
};

}  // namespace psgd::backend
