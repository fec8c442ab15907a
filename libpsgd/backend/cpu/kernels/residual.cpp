// M̂ = P·Qᵀ, target ← M − M̂, output ← M̂ and the sums of both over a block of a matrix.
//
// At low rank everything happens to a vector of M̂ in the registers, row by row, while the next row is fetched. At
// higher rank M̂ is formed tile by tile in the first-level cache, several rows at once so that a vector of Q serves them
// all, and then subtracted and measured.

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

/// The five sums, a vector at a time.
template <class T, bool kReference>
class BlockSums {
 public:
  HWY_INLINE void add(Vector<T> rest, Vector<T> low_rank, Vector<T> reference) {
    here_.residual_sq.add_square(widen(rest));
    if constexpr (kReference) here_.comparison.add(low_rank, reference);
  }

  /// After `count` elements more. Long chains of additions would lose digits, so that sums of some thousands are kept
  /// apart.
  void passed(std::size_t count) {
    pending_ += count;
    if (pending_ < 2048) return;
    fold();
  }

  [[nodiscard]] ResidualSums total() {
    fold();
    return {whole_.residual_sq.total(), whole_.comparison.total()};
  }

 private:
  struct Sums {
    Sum<T> residual_sq;
    ComparisonSums<T> comparison;
  };

  void fold() {
    whole_.residual_sq.add(here_.residual_sq);
    if constexpr (kReference) whole_.comparison.add(here_.comparison);
    here_ = {};
    pending_ = 0;
  }

  Sums here_;
  Sums whole_;
  std::size_t pending_ = 0;
};

/// Subtracts, stores and measures `cols` elements of a row from `at` on; low_rank(j) is the vector of M̂ there.
template <class T, bool kReference, bool kFetch, class LowRank>
HWY_INLINE void finish(const ResidualBlock<T>& block, std::size_t at, std::size_t cols, const LowRank& low_rank,
                       BlockSums<T, kReference>& sums) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  const T* const matrix = block.matrix + at;
  const T* const reference = kReference ? block.reference + at : matrix;
  std::size_t j = 0;
  for (; j + n <= cols; j += n) {
    if constexpr (kFetch) {
      fetch(matrix, block.stride + j);
      if constexpr (kReference) fetch(reference, block.stride + j);
    }
    const Vector<T> approximation = low_rank(j);
    const Vector<T> rest = hn::Sub(hn::LoadU(d, matrix + j), approximation);
    const Vector<T> compared = hn::LoadU(d, reference + j);
    if (block.target != nullptr) hn::StoreU(rest, d, block.target + at + j);
    if (block.output != nullptr) hn::StoreU(approximation, d, block.output + at + j);
    sums.add(rest, approximation, compared);
  }
  if (j < cols) {
    const std::size_t left = cols - j;
    const Vector<T> approximation = hn::IfThenElseZero(hn::FirstN(d, left), low_rank(j));
    const Vector<T> rest = hn::Sub(load_part(matrix + j, left), approximation);
    const Vector<T> compared = load_part(reference + j, left);
    if (block.target != nullptr) store_part(rest, block.target + at + j, left);
    if (block.output != nullptr) store_part(approximation, block.output + at + j, left);
    sums.add(rest, approximation, compared);
  }
  sums.passed(cols);
}

/// Columns swept before the next are begun: their part of Q stays in the first-level cache.
template <class T>
inline constexpr std::size_t sweep_cols = 3072 / sizeof(T);

template <class T, std::size_t kRank, bool kReference>
ResidualSums residual_by_rows(const ResidualBlock<T>& block) {
  constexpr std::size_t widest = sweep_cols<T>;
  static_assert(widest % lanes<T>() == 0);
  const Tag<T> d;
  BlockSums<T, kReference> sums;
  for (std::size_t col = 0; col < block.cols; col += widest) {
    const std::size_t cols = std::min(widest, block.cols - col);
    const T* const q = block.q + col;
    for (std::size_t row = 0; row < block.rows; ++row) {
      const T* const p = block.p + row * block.rank;
      const auto low_rank = [&](std::size_t j) HWY_ATTR {
        Vector<T> sum = hn::Zero(d);
        for (std::size_t k = 0; k < kRank; ++k) {
          sum = hn::MulAdd(hn::Set(d, p[k]), hn::LoadU(d, q + k * block.q_stride + j), sum);
        }
        return sum;
      };
      finish<T, kReference, true>(block, row * block.stride + col, cols, low_rank, sums);
    }
  }
  return sums.total();
}

template <class T, bool kReference>
ResidualSums residual_by_tiles(const ResidualBlock<T>& block) {
  alignas(64) T product[tile_elements<T> + lanes<T>()];  // a vector may reach beyond the last column
  const Tag<T> d;
  const std::size_t widest = tile_elements<T> / group_rows;
  const T* reference = kReference ? block.reference : block.matrix;
  BlockSums<T, kReference> sums;
  for (std::size_t col = 0; col < block.cols; col += widest) {
    const std::size_t cols = std::min(widest, block.cols - col);
    const std::size_t highest = tile_elements<T> / cols / group_rows * group_rows;
    for (std::size_t row = 0; row < block.rows; row += highest) {
      const std::size_t rows = std::min(highest, block.rows - row);
      const std::size_t at = row * block.stride + col;
      form_tile<T>({rows, cols, block.stride, block.matrix + at, reference + at, block.p + row * block.rank,
                    block.q + col, block.q_stride, block.rank, product, cols});
      // Whole rows lie one behind the other, which spares short ones their ends.
      const bool whole = cols == block.stride;
      const std::size_t runs = whole ? 1 : rows;
      const std::size_t run_cols = whole ? rows * cols : cols;
      for (std::size_t run = 0; run < runs; ++run) {
        const T* const from = product + run * cols;
        finish<T, kReference, false>(
            block, at + run * block.stride, run_cols, [&](std::size_t j) HWY_ATTR { return hn::LoadU(d, from + j); },
            sums);
      }
    }
  }
  return sums.total();
}

template <class T, bool kReference>
ResidualSums residual_with(const ResidualBlock<T>& block) {
  switch (block.rank) {
    case 0:
      return residual_by_rows<T, 0, kReference>(block);
    case 1:
      return residual_by_rows<T, 1, kReference>(block);
    case 2:
      return residual_by_rows<T, 2, kReference>(block);
    case 3:
      return residual_by_rows<T, 3, kReference>(block);
    case 4:
      return residual_by_rows<T, 4, kReference>(block);
    default:
      return residual_by_tiles<T, kReference>(block);
  }
}

template <class T>
ResidualSums residual(const ResidualBlock<T>& block) {
  return block.reference != nullptr ? residual_with<T, true>(block) : residual_with<T, false>(block);
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
