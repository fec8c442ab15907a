// Q ← Mᵀ·P over a block of a matrix.
//
// Lanes run along the matrix's rows, so that the sums of one vector of columns are vectors too, one for each column of
// P. They are kept in registers while a group of rows passes and in the packed factor meanwhile.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/back_project.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/vectors-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

/// Rows that pass before the sums are put back.
inline constexpr std::size_t group_rows = 16;

/// Columns swept before the next rows are begun: their sums and rows stay in the first-level cache.
template <class T>
inline constexpr std::size_t sweep_cols = 2048 / sizeof(T);

template <class T>
struct Tile {
  const T* matrix;
  std::size_t stride;
  std::size_t rows;
  std::size_t cols;
  const T* p;
  std::size_t p_stride;
  T* q;
  std::size_t q_stride;
};

/// kVectors vectors of columns from `col` on meet kRank columns of P.
template <class T, std::size_t kVectors, std::size_t kRank, bool kFetch>
HWY_INLINE void accumulate(const Tile<T>& tile, std::size_t col) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  Vector<T> sums[kRank][kVectors];
  for (std::size_t k = 0; k < kRank; ++k) {
    for (std::size_t v = 0; v < kVectors; ++v) sums[k][v] = hn::LoadU(d, tile.q + k * tile.q_stride + col + v * n);
  }
  const T* row = tile.matrix + col;
  const T* p = tile.p;
  for (std::size_t a = 0; a < tile.rows; ++a, row += tile.stride, p += tile.p_stride) {
    if constexpr (kFetch) {
      for (std::size_t ahead = 0; ahead < kVectors * n; ahead += lanes_in_line<T>()) {
        fetch(row, group_rows * tile.stride + ahead);
      }
    }
    Vector<T> x[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) x[v] = hn::LoadU(d, row + v * n);
    for (std::size_t k = 0; k < kRank; ++k) {
      const Vector<T> y = hn::Set(d, p[k]);
      for (std::size_t v = 0; v < kVectors; ++v) sums[k][v] = hn::MulAdd(x[v], y, sums[k][v]);
    }
  }
  for (std::size_t k = 0; k < kRank; ++k) {
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[k][v], d, tile.q + k * tile.q_stride + col + v * n);
  }
}

/// The last columns, fewer than a vector.
template <class T>
void accumulate_part(const Tile<T>& tile, std::size_t col, std::size_t rank) {
  const Tag<T> d;
  for (std::size_t a = 0; a < tile.rows; ++a) {
    const Vector<T> x = load_part(tile.matrix + a * tile.stride + col, tile.cols - col);
    for (std::size_t k = 0; k < rank; ++k) {
      T* q = tile.q + k * tile.q_stride + col;
      hn::StoreU(hn::MulAdd(x, hn::Set(d, tile.p[a * tile.p_stride + k]), hn::LoadU(d, q)), d, q);
    }
  }
}

template <class T, std::size_t kRank, bool kFetch>
void accumulate_rows(const Tile<T>& tile) {
  constexpr std::size_t n = lanes<T>();
  constexpr std::size_t vectors = kRank <= 2 || many_registers ? 4 : 2;  // so that the sums stay in registers
  std::size_t col = 0;
  for (; col + vectors * n <= tile.cols; col += vectors * n) accumulate<T, vectors, kRank, kFetch>(tile, col);
  for (; col + n <= tile.cols; col += n) accumulate<T, 1, kRank, kFetch>(tile, col);
  if (col < tile.cols) accumulate_part(tile, col, kRank);
}

template <class T, bool kFetch>
void accumulate_rows(const Tile<T>& tile, std::size_t rank) {
  switch (rank) {
    case 1:
      return accumulate_rows<T, 1, kFetch>(tile);
    case 2:
      return accumulate_rows<T, 2, kFetch>(tile);
    case 3:
      return accumulate_rows<T, 3, kFetch>(tile);
    default:
      return accumulate_rows<T, 4, kFetch>(tile);
  }
}

template <class T>
void back_project(const BackProjectBlock<T>& block) {
  const std::size_t whole = (block.cols + lanes<T>() - 1) / lanes<T>() * lanes<T>();
  for (std::size_t k = 0; k < block.rank; ++k) std::fill_n(block.q + k * block.q_stride, whole, T{0});
  for (std::size_t col = 0; col < block.cols; col += sweep_cols<T>) {
    const std::size_t cols = std::min(sweep_cols<T>, block.cols - col);
    for (std::size_t row = 0; row < block.rows; row += group_rows) {
      Tile<T> tile{block.matrix + row * block.stride + col,
                   block.stride,
                   std::min(group_rows, block.rows - row),
                   cols,
                   block.p + row * block.rank,
                   block.rank,
                   block.q + col,
                   block.q_stride};
      for (std::size_t k = 0; k < block.rank; k += 4) {
        const std::size_t rank = std::min<std::size_t>(block.rank - k, 4);
        k == 0 ? accumulate_rows<T, true>(tile, rank) : accumulate_rows<T, false>(tile, rank);
        tile.p += 4;
        tile.q += 4 * tile.q_stride;
      }
    }
  }
}

void fill(Kernels<float>& single, Kernels<double>& twofold) {
  single.back_project = back_project<float>;
  twofold.back_project = back_project<double>;
}

}  // namespace
}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::backend::kernels {
HWY_EXPORT(fill);
void add_back_project(Kernels<float>& single, Kernels<double>& twofold) { HWY_DYNAMIC_DISPATCH(fill)(single, twofold); }
}  // namespace psgd::backend::kernels
#endif
