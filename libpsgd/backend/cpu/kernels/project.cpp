// M ← target + gradient and P ← M·Q over a block of a matrix.
//
// A few rows at a time: their elements are formed and measured, which brings them into the first-level cache, and then
// meet the columns of Q, four at once. Lanes run along the matrix's rows, so each sum is kept as a vector until the
// rows end. While one group of rows is multiplied the next is fetched.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/project.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/runs-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

/// Columns swept before the next are begun: four of them of the packed factor stay in the first-level cache.
template <class T>
inline constexpr std::size_t sweep_cols = 4096 / sizeof(T);

/// The rows of one group and the columns of one sweep.
template <class T>
struct Tile {
  const T* matrix;
  std::size_t stride;
  std::size_t cols;
  const T* next;       ///< the same tile of the next rows, to be fetched meanwhile
  const T* next_also;  ///< the same of a second stream
  const T* q;
  std::size_t q_stride;
  T* p;
  std::size_t p_stride;
};

/// p[a][k] += ⟨row a, column k of Q⟩
template <class T, std::size_t kRows, std::size_t kCols, bool kFetch>
HWY_INLINE void multiply(const Tile<T>& tile) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  Vector<T> sums[kRows][kCols] = {};
  std::size_t j = 0;
  for (; j + n <= tile.cols; j += n) {
    Vector<T> x[kRows];
    for (std::size_t a = 0; a < kRows; ++a) {
      if constexpr (kFetch) {
        fetch(tile.next, a * tile.stride + j);
        fetch(tile.next_also, a * tile.stride + j);
      }
      x[a] = hn::LoadU(d, tile.matrix + a * tile.stride + j);
    }
    for (std::size_t k = 0; k < kCols; ++k) {
      const Vector<T> y = hn::LoadU(d, tile.q + k * tile.q_stride + j);
      for (std::size_t a = 0; a < kRows; ++a) sums[a][k] = hn::MulAdd(x[a], y, sums[a][k]);
    }
  }
  if (j < tile.cols) {
    Vector<T> x[kRows];
    for (std::size_t a = 0; a < kRows; ++a) x[a] = load_part(tile.matrix + a * tile.stride + j, tile.cols - j);
    for (std::size_t k = 0; k < kCols; ++k) {
      const Vector<T> y = hn::LoadU(d, tile.q + k * tile.q_stride + j);
      for (std::size_t a = 0; a < kRows; ++a) sums[a][k] = hn::MulAdd(x[a], y, sums[a][k]);
    }
  }
  for (std::size_t a = 0; a < kRows; ++a) {
    for (std::size_t k = 0; k < kCols; ++k) {
      tile.p[a * tile.p_stride + k] += hn::GetLane(hn::SumOfLanes(d, sums[a][k]));
    }
  }
}

template <class T, std::size_t kRows, bool kFetch>
void multiply_by(const Tile<T>& tile, std::size_t cols) {
  switch (cols) {
    case 1:
      return multiply<T, kRows, 1, kFetch>(tile);
    case 2:
      return multiply<T, kRows, 2, kFetch>(tile);
    case 3:
      return multiply<T, kRows, 3, kFetch>(tile);
    default:
      return multiply<T, kRows, 4, kFetch>(tile);
  }
}

/// All columns of Q, four at a time; only the first time around does memory have to be fetched.
template <class T, std::size_t kRows>
void multiply_rows(Tile<T> tile, std::size_t rank) {
  if (rank == 0) return;
  multiply_by<T, kRows, true>(tile, std::min<std::size_t>(rank, 4));
  for (std::size_t k = 4; k < rank; k += 4) {
    tile.q += 4 * tile.q_stride;
    tile.p += 4;
    multiply_by<T, kRows, false>(tile, std::min<std::size_t>(rank - k, 4));
  }
}

/// M ← target + gradient where there is a target; returns ‖M‖² where it is wanted.
template <class T>
double form(const ProjectBlock<T>& block, std::size_t row, std::size_t rows, std::size_t col, std::size_t cols) {
  if (block.target == nullptr && !block.measured) return 0;
  const bool contiguous = cols == block.stride;
  const std::size_t runs = contiguous ? 1 : rows;
  const std::size_t count = contiguous ? rows * cols : cols;
  double sum = 0;
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t at = (row + run) * block.stride + col;
    sum += block.target != nullptr ? add_sum_squares(block.gradient + at, block.target + at, count)
                                   : sum_squares(block.gradient + at, count);
  }
  return sum;
}

template <class T, std::size_t kRows>
double project_by(const ProjectBlock<T>& block) {
  const T* matrix = block.target != nullptr ? block.target : block.gradient;
  std::fill(block.p, block.p + block.rows * block.rank, T{0});
  double sum = 0;
  for (std::size_t col = 0; col < block.cols; col += sweep_cols<T>) {
    const std::size_t cols = std::min(sweep_cols<T>, block.cols - col);
    for (std::size_t row = 0; row < block.rows;) {
      const std::size_t rows = block.rows - row >= kRows ? kRows : 1;
      const std::size_t at = row * block.stride + col;
      const std::size_t next = at + rows * block.stride;
      sum += form(block, row, rows, col, cols);
      const Tile<T> tile{matrix + at,
                         block.stride,
                         cols,
                         matrix + next,
                         block.gradient + next,
                         block.q + col,
                         block.q_stride,
                         block.p + row * block.rank,
                         block.rank};
      if (rows == kRows) {
        multiply_rows<T, kRows>(tile, block.rank);
      } else {
        multiply_rows<T, 1>(tile, block.rank);
      }
      row += rows;
    }
  }
  return sum;
}

template <class T>
double project(const ProjectBlock<T>& block) {
  // As many rows as leave room for the sums, one column of Q and the rows themselves in the registers.
  if constexpr (many_registers) return project_by<T, 6>(block);
  return block.rank <= 3 ? project_by<T, 4>(block) : project_by<T, 3>(block);
}

void fill(Kernels<float>& single, Kernels<double>& twofold) {
  single.project = project<float>;
  twofold.project = project<double>;
}

}  // namespace
}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::backend::kernels {
HWY_EXPORT(fill);
void add_project(Kernels<float>& single, Kernels<double>& twofold) { HWY_DYNAMIC_DISPATCH(fill)(single, twofold); }
}  // namespace psgd::backend::kernels
#endif
