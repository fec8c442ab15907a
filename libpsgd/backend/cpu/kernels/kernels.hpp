#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/backend/backend.hpp"

/// The inner loops of the CPU backend: one piece of work each, without threads or allocation, compiled for several SIMD
/// levels.
///
/// Extents and strides count elements. A "packed" factor is the transpose of a row-major one: its column k is
/// contiguous, from k·stride on, and zero from the last row up to a whole number of vectors (`packed_stride`).
namespace psgd::backend::kernels {

/// A block of a matrix for M ← target + gradient, P ← M·Q.
template <class T>
struct ProjectBlock {
  const T* gradient = nullptr;
  T* target = nullptr;     ///< null: M is the gradient
  std::size_t stride = 0;  ///< of gradient and target
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t rank = 0;
  const T* q = nullptr;  ///< packed, cols × rank
  std::size_t q_stride = 0;
  T* p = nullptr;         ///< rows × rank, row-major; overwritten with M·Q
  bool measured = false;  ///< whether ‖M‖² is wanted
};

/// A block of a matrix for Q ← Mᵀ·P.
template <class T>
struct BackProjectBlock {
  const T* matrix = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t rank = 0;
  const T* p = nullptr;  ///< rows × rank, row-major
  T* q = nullptr;        ///< packed, cols × rank; overwritten with Mᵀ·P, up to the end of the last vector
  std::size_t q_stride = 0;
};

/// A block of a matrix for M̂ = P·Qᵀ, target ← M − M̂, output ← M̂.
template <class T>
struct ResidualBlock {
  const T* matrix = nullptr;
  T* target = nullptr;           ///< null, or where M lies
  T* output = nullptr;           ///< or null
  const T* reference = nullptr;  ///< or null
  std::size_t stride = 0;        ///< of all four
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t rank = 0;
  const T* p = nullptr;  ///< rows × rank, row-major
  const T* q = nullptr;  ///< packed, cols × rank
  std::size_t q_stride = 0;
};

struct ResidualSums {
  double residual_sq = 0;  ///< ‖M − M̂‖²
  TensorSums tensor;       ///< of M̂ against the reference
};

/// A run of elements for the reduction over process ranks; see RankReduction, whose pointers these are.
template <class T>
struct RankRun {
  const T* const* gradients = nullptr;  ///< or null
  T* const* deviations = nullptr;       ///< or null
  const T* const* errors = nullptr;
  T* mean = nullptr;
  std::size_t ranks = 0;
  std::size_t error_count = 0;
  std::size_t begin = 0;  ///< where in all of them the run begins
  std::size_t count = 0;
  RankSums* sums = nullptr;      ///< [ranks], overwritten
  double* dots = nullptr;        ///< [ranks][error_count], overwritten
  void* accumulators = nullptr;  ///< scratch: ranks·(2 + error_count)·rank_accumulator_bytes, aligned to 64 bytes
};

/// Columns of a panel of a tall factor, packed. `rows` need not fill the last vector; what lies between their end and a
/// multiple of solve_rows can be read and written (`tall_stride`).
template <class T>
struct PackedColumns {
  T* data = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// Every kernel at one SIMD level.
template <class T>
struct Kernels {
  // Over runs of elements. Sums are float64.
  double (*sum_squares)(const T* values, std::size_t count) = nullptr;
  double (*add_sum_squares)(const T* source, T* destination, std::size_t count) = nullptr;  ///< destination += source
  TensorSums (*compare)(const T* output, const T* reference, std::size_t count) = nullptr;
  void (*add)(const T* source, T* destination, std::size_t count) = nullptr;
  void (*subtract)(const T* source, T* destination, std::size_t count) = nullptr;
  void (*divide)(const T* source, T divisor, T* destination, std::size_t count) = nullptr;
  void (*scale)(const T* source, T factor, T* destination, std::size_t count) = nullptr;

  // Over blocks of a matrix.
  double (*project)(const ProjectBlock<T>& block) = nullptr;  ///< returns ‖M‖² or 0
  void (*back_project)(const BackProjectBlock<T>& block) = nullptr;
  ResidualSums (*residual)(const ResidualBlock<T>& block) = nullptr;
  void (*reduce_ranks)(const RankRun<T>& run) = nullptr;

  // Over panels of tall factors.

  /// gram += AᵀA, the upper triangle of row-major cols × cols. Zeros have to follow the rows up to a whole vector.
  void (*gram)(const PackedColumns<T>& columns, double* gram) = nullptr;
  /// A ← A·R⁻¹, `upper` row-major cols × cols; by substitution in float64, each value rounded once. `work` holds
  /// solve_work(cols) numbers, aligned to 64 bytes.
  void (*solve_right)(const PackedColumns<T>& columns, const double* upper, double* work) = nullptr;
  /// A ← A·X, `upper` triangular, row-major cols × cols; summed in float64, each value rounded once.
  void (*multiply_right)(const PackedColumns<T>& columns, const double* upper) = nullptr;
  /// A ← A + A·X in T, row-major, `upper` triangular with rows `stride` elements apart, each followed by zeros up to a
  /// whole vector.
  void (*add_product)(T* rows_of, std::size_t rows, std::size_t cols, const T* upper, std::size_t stride) = nullptr;
  /// dots[c] ← ⟨column, others_c⟩
  void (*dots)(const T* column, const PackedColumns<T>& others, double* dots) = nullptr;
  /// from_c ← from_c − factors[c]·column; product and difference are each rounded to T.
  void (*subtract_multiples)(const T* column, const T* factors, const PackedColumns<T>& from) = nullptr;
  /// from ← from − Σ factors[c]·columns_c, summed in float64 and rounded once; returns Σ from².
  double (*subtract_combination)(const PackedColumns<T>& columns, const double* factors, T* from) = nullptr;

  // Between row-major and packed factors.
  void (*pack)(const T* rows_of, std::size_t rows, std::size_t cols, T* packed, std::size_t stride) = nullptr;
  void (*unpack)(const T* packed, std::size_t stride, std::size_t rows, std::size_t cols, T* rows_of) = nullptr;
};

/// Bytes of scratch that a sum of RankRun takes at the widest level.
inline constexpr std::size_t rank_accumulator_bytes = 128;

/// Elements from one column of a packed factor to the next: whole vectors of every level, and one cache line more,
/// since columns a power of two apart would meet in the same sets of the cache.
template <class T>
constexpr std::size_t packed_stride(std::size_t rows) {
  constexpr std::size_t line = 64 / sizeof(T);
  return (rows + line - 1) / line * line + line;
}

/// Rows that solve_right and its like take together at most.
inline constexpr std::size_t solve_rows = 64;

/// Numbers of scratch that solve_right needs.
constexpr std::size_t solve_work(std::size_t cols) {
  return (cols + solve_rows - 1) / solve_rows * solve_rows + cols * solve_rows;
}

/// As packed_stride, for PackedColumns.
template <class T>
constexpr std::size_t tall_stride(std::size_t rows) {
  return packed_stride<T>((rows + solve_rows - 1) / solve_rows * solve_rows);
}

/// The SIMD levels that this build has and this processor runs, best first, in lower case: "avx3", "avx2", "ssse3",
/// "scalar".
std::vector<std::string> simd_levels();

/// The level that the environment variable PSGD_SIMD asks for; empty without one.
std::string simd_level_from_environment();

/// The kernels of a level, empty for the best. Throws Error::usage, naming those there are, when it is not among
/// simd_levels().
template <class T>
Kernels<T> kernels(std::string_view level);

}  // namespace psgd::backend::kernels
