// M̂ = P·Qᵀ, target ← M − M̂, output ← M̂ and the sums of both over a block of a matrix.
//
// Tile by tile: M̂ is formed in the first-level cache while the tile's other memory is fetched, and then subtracted and
// measured.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/residual.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/runs-inl.hpp"
#include "libpsgd/backend/cpu/sums.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

inline constexpr std::size_t group_rows = 4;

/// Elements of M̂ held at once.
template <class T>
inline constexpr std::size_t tile_elements = 8192 / sizeof(T);

template <class T>
struct Tile {
  std::size_t rows;
  std::size_t cols;
  std::size_t stride;  ///< of matrix and reference
  const T* matrix;     ///< to be fetched
  const T* reference;  ///< to be fetched
  const T* p;
  const T* q;
  std::size_t q_stride;
  std::size_t rank;
  T* product;
  std::size_t product_stride;
};

/// Rows [row, row + kRows) of the product in kVectors vectors of columns from `col` on; only `part` columns of the last
/// are stored.
template <class T, std::size_t kRows, std::size_t kVectors>
HWY_INLINE void form(const Tile<T>& tile, std::size_t row, std::size_t col, std::size_t part) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  Vector<T> sums[kRows][kVectors] = {};
  const T* p = tile.p + row * tile.rank;
  const T* q = tile.q + col;
  for (std::size_t k = 0; k < tile.rank; ++k, q += tile.q_stride) {
    Vector<T> y[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) y[v] = hn::LoadU(d, q + v * n);
    for (std::size_t a = 0; a < kRows; ++a) {
      const Vector<T> x = hn::Set(d, p[a * tile.rank + k]);
      for (std::size_t v = 0; v < kVectors; ++v) sums[a][v] = hn::MulAdd(x, y[v], sums[a][v]);
    }
  }
  for (std::size_t a = 0; a < kRows; ++a) {
    T* to = tile.product + (row + a) * tile.product_stride + col;
    for (std::size_t v = 0; v + 1 < kVectors; ++v) hn::StoreU(sums[a][v], d, to + v * n);
    if (part == n) {
      hn::StoreU(sums[a][kVectors - 1], d, to + (kVectors - 1) * n);
    } else {
      store_part(sums[a][kVectors - 1], to + (kVectors - 1) * n, part);
    }
    if constexpr (kVectors > 1) {
      const std::size_t at = (row + a) * tile.stride + col;
      for (std::size_t ahead = 0; ahead < kVectors * n; ahead += lanes_in_line<T>()) {
        fetch(tile.matrix, at + ahead);
        fetch(tile.reference, at + ahead);
      }
    }
  }
}

template <class T, std::size_t kRows>
void form_rows(const Tile<T>& tile, std::size_t row) {
  constexpr std::size_t n = lanes<T>();
  constexpr std::size_t vectors = many_registers ? 4 : 2;
  std::size_t col = 0;
  for (; col + vectors * n <= tile.cols; col += vectors * n) form<T, kRows, vectors>(tile, row, col, n);
  for (; col + n <= tile.cols; col += n) form<T, kRows, 1>(tile, row, col, n);
  if (col < tile.cols) form<T, kRows, 1>(tile, row, col, tile.cols - col);
}

template <class T>
void form_tile(const Tile<T>& tile) {
  std::size_t row = 0;
  for (; row + group_rows <= tile.rows; row += group_rows) form_rows<T, group_rows>(tile, row);
  for (; row < tile.rows; ++row) form_rows<T, 1>(tile, row);
}

/// Subtracts and measures `count` contiguous elements from `at` on.
template <class T>
void finish(const ResidualBlock<T>& block, std::size_t at, const T* product, std::size_t count, ResidualSums& sums) {
  T* rest = block.target != nullptr ? block.target + at : nullptr;
  sums.residual_sq += subtract_sum_squares(block.matrix + at, product, rest, count);
  if (block.reference != nullptr) add(compare(product, block.reference + at, count), sums.tensor);
  if (block.output != nullptr) std::copy_n(product, count, block.output + at);
}

template <class T>
ResidualSums residual(const ResidualBlock<T>& block) {
  alignas(64) T product[tile_elements<T>];
  const std::size_t widest = tile_elements<T> / group_rows;
  const T* reference = block.reference != nullptr ? block.reference : block.matrix;
  ResidualSums sums;
  for (std::size_t col = 0; col < block.cols; col += widest) {
    const std::size_t cols = std::min(widest, block.cols - col);
    const std::size_t highest = tile_elements<T> / cols / group_rows * group_rows;
    for (std::size_t row = 0; row < block.rows; row += highest) {
      const std::size_t rows = std::min(highest, block.rows - row);
      const std::size_t at = row * block.stride + col;
      form_tile<T>({rows, cols, block.stride, block.matrix + at, reference + at, block.p + row * block.rank,
                    block.q + col, block.q_stride, block.rank, product, cols});
      if (cols == block.stride) {
        finish(block, at, product, rows * cols, sums);
      } else {
        for (std::size_t a = 0; a < rows; ++a) finish(block, at + a * block.stride, product + a * cols, cols, sums);
      }
    }
  }
  return sums;
}

void fill(Kernels<float>& single, Kernels<double>& twofold) {
  single.residual = residual<float>;
  twofold.residual = residual<double>;
}

}  // namespace
}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::backend::kernels {
HWY_EXPORT(fill);
void add_residual(Kernels<float>& single, Kernels<double>& twofold) { HWY_DYNAMIC_DISPATCH(fill)(single, twofold); }
}  // namespace psgd::backend::kernels
#endif
