#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/backend/cpu/kernels/kernels.hpp"
#include "libpsgd/backend/cpu/partition.hpp"
#include "libpsgd/backend/cpu/scratch.hpp"

namespace psgd::backend {

/// The passes over runs of elements: cuts the runs, gives each part to a kernel, and adds the parts' sums in their
/// order.
template <class T>
class ElementPasses {
 public:
  ElementPasses(ThreadPool& pool, const kernels::Kernels<T>& kernels) : distributor_(pool), kernels_(kernels) {}

  void reduce_ranks(const RankReduction<T>& reduction);
  void compare(std::span<const Comparison<T>> comparisons);
  void norms(const T* values, std::span<const Segment> segments, double* sums, std::size_t stride);
  void add(const T* source, T* destination, std::int64_t count);
  void subtract(const T* source, T* destination, std::int64_t count);
  void divide(const T* source, T divisor, T* destination, std::int64_t count);
  void copy(const T* source, T* destination, std::int64_t count);

 private:
  template <class Body>
  void for_each_part(std::int64_t count, Body&& body);
  void add_rank_sums(const RankReduction<T>& reduction, std::size_t ranks);

  Distributor distributor_;
  kernels::Kernels<T> kernels_;
  std::vector<Range> ranges_;
  Scratch<double> squares_;          ///< of each range
  Scratch<TensorSums> comparisons_;  ///< of each range
  Scratch<RankSums> rank_sums_;      ///< [ranges][ranks]
  Scratch<double> dots_;             ///< [ranges][ranks][errors]
  Scratch<std::byte> accumulators_;  ///< of each worker
};

}  // namespace psgd::backend
