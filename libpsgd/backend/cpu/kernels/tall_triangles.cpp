// AᵀA, A·R⁻¹ and A·X of a panel of a tall factor, whose columns are packed.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/tall_triangles.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/vectors-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

using Wide = Tag<double>;
using WideVector = Vector<double>;
using NarrowTag = hn::Rebind<float, Wide>;

HWY_INLINE WideVector load_wide(const double* from) { return hn::LoadU(Wide(), from); }
HWY_INLINE WideVector load_wide(const float* from) { return hn::PromoteTo(Wide(), hn::LoadU(NarrowTag(), from)); }
HWY_INLINE void store_rounded(WideVector value, double* to) { hn::StoreU(value, Wide(), to); }
HWY_INLINE void store_rounded(WideVector value, float* to) {
  hn::StoreU(hn::DemoteTo(NarrowTag(), value), NarrowTag(), to);
}

/// Columns that meet as many others in registers.
inline constexpr std::size_t side = many_registers ? 4 : 3;

template <class T>
using AddTile = void (*)(const PackedColumns<T>& columns, std::size_t i, std::size_t j, double* gram);

/// Adds the products of columns i … i + kI with columns j … j + kJ.
template <class T, std::size_t kI, std::size_t kJ>
void add_tile(const PackedColumns<T>& columns, std::size_t i, std::size_t j, double* gram) {
  const T* left = columns.data + i * columns.stride;
  const T* right = columns.data + j * columns.stride;
  WideVector sums[kI][kJ] = {};
  for (std::size_t row = 0; row < columns.rows; row += lanes<double>()) {
    WideVector y[kJ];
    for (std::size_t b = 0; b < kJ; ++b) y[b] = load_wide(right + b * columns.stride + row);
    for (std::size_t a = 0; a < kI; ++a) {
      const WideVector x = load_wide(left + a * columns.stride + row);
      for (std::size_t b = 0; b < kJ; ++b) sums[a][b] = hn::MulAdd(x, y[b], sums[a][b]);
    }
  }
  for (std::size_t a = 0; a < kI; ++a) {
    for (std::size_t b = 0; b < kJ; ++b) {
      gram[(i + a) * columns.cols + j + b] += hn::GetLane(hn::SumOfLanes(Wide(), sums[a][b]));
    }
  }
}

/// Adds the products of columns i … i + kSide among themselves, each pair once.
template <class T, std::size_t kSide>
void add_diagonal(const PackedColumns<T>& columns, std::size_t i, double* gram) {
  const T* from = columns.data + i * columns.stride;
  WideVector sums[kSide][kSide] = {};
  for (std::size_t row = 0; row < columns.rows; row += lanes<double>()) {
    WideVector x[kSide];
    for (std::size_t a = 0; a < kSide; ++a) x[a] = load_wide(from + a * columns.stride + row);
    for (std::size_t a = 0; a < kSide; ++a) {
      for (std::size_t b = a; b < kSide; ++b) sums[a][b] = hn::MulAdd(x[a], x[b], sums[a][b]);
    }
  }
  for (std::size_t a = 0; a < kSide; ++a) {
    for (std::size_t b = a; b < kSide; ++b) {
      gram[(i + a) * columns.cols + i + b] += hn::GetLane(hn::SumOfLanes(Wide(), sums[a][b]));
    }
  }
}

template <class T>
void add_diagonal(const PackedColumns<T>& columns, std::size_t i, std::size_t width, double* gram) {
  switch (width) {
    case 1:
      return add_diagonal<T, 1>(columns, i, gram);
    case 2:
      return add_diagonal<T, 2>(columns, i, gram);
    case 3:
      return add_diagonal<T, 3>(columns, i, gram);
    default:
      return add_diagonal<T, side>(columns, i, gram);
  }
}

/// The last tile of a row of tiles may be narrow; all are of full height, since those below it are right of the
/// diagonal.
template <class T>
AddTile<T> tile_of(std::size_t width) {
  switch (width) {
    case 1:
      return add_tile<T, side, 1>;
    case 2:
      return add_tile<T, side, 2>;
    case 3:
      return add_tile<T, side, 3>;
    default:
      return add_tile<T, side, side>;
  }
}

template <class T>
void gram(const PackedColumns<T>& columns, double* gram) {
  for (std::size_t i = 0; i < columns.cols; i += side) {
    add_diagonal(columns, i, std::min(side, columns.cols - i), gram);
    for (std::size_t j = i + side; j < columns.cols; j += side) {
      tile_of<T>(std::min(side, columns.cols - j))(columns, i, j, gram);
    }
  }
}

/// Columns that are solved together.
inline constexpr std::size_t abreast = 4;

/// Vectors of rows that are solved together: enough to keep the multiply-adds busy while each waits for the one before.
inline constexpr std::size_t vectors = many_registers ? 4 : 2;

/// kCols columns from j on of `vectors` vectors of rows, given the columns before in `solved`.
template <class T, std::size_t kCols>
HWY_INLINE void solve_columns(const PackedColumns<T>& columns, std::size_t row, std::size_t j, const double* upper,
                              const double* reciprocals, double* solved) {
  constexpr std::size_t n = lanes<double>();
  constexpr std::size_t height = vectors * n;
  const std::size_t r = columns.cols;
  WideVector rest[kCols][vectors];
  for (std::size_t b = 0; b < kCols; ++b) {
    for (std::size_t v = 0; v < vectors; ++v) {
      rest[b][v] = load_wide(columns.data + (j + b) * columns.stride + row + v * n);
    }
  }
  for (std::size_t i = 0; i < j; ++i) {
    WideVector x[vectors];
    for (std::size_t v = 0; v < vectors; ++v) x[v] = hn::Load(Wide(), solved + i * height + v * n);
    for (std::size_t b = 0; b < kCols; ++b) {
      const WideVector factor = hn::Set(Wide(), upper[i * r + j + b]);
      for (std::size_t v = 0; v < vectors; ++v) rest[b][v] = hn::NegMulAdd(factor, x[v], rest[b][v]);
    }
  }
  for (std::size_t b = 0; b < kCols; ++b) {
    const WideVector reciprocal = hn::Set(Wide(), reciprocals[j + b]);
    for (std::size_t v = 0; v < vectors; ++v) {
      rest[b][v] = hn::Mul(rest[b][v], reciprocal);
      hn::Store(rest[b][v], Wide(), solved + (j + b) * height + v * n);
      store_rounded(rest[b][v], columns.data + (j + b) * columns.stride + row + v * n);
    }
    for (std::size_t c = b + 1; c < kCols; ++c) {
      const WideVector factor = hn::Set(Wide(), upper[(j + b) * r + j + c]);
      for (std::size_t v = 0; v < vectors; ++v) rest[c][v] = hn::NegMulAdd(factor, rest[b][v], rest[c][v]);
    }
  }
}

template <class T>
void solve_right(const PackedColumns<T>& columns, const double* upper, double* work) {
  static_assert(vectors * HWY_LANES(double) <= solve_rows);
  double* const reciprocals = work;
  double* const solved = work + (columns.cols + solve_rows - 1) / solve_rows * solve_rows;
  for (std::size_t j = 0; j < columns.cols; ++j) reciprocals[j] = 1 / upper[j * columns.cols + j];
  for (std::size_t row = 0; row < columns.rows; row += vectors * lanes<double>()) {
    std::size_t j = 0;
    for (; j + abreast <= columns.cols; j += abreast) {
      solve_columns<T, abreast>(columns, row, j, upper, reciprocals, solved);
    }
    for (; j < columns.cols; ++j) solve_columns<T, 1>(columns, row, j, upper, reciprocals, solved);
  }
}

/// Vectors of rows that are multiplied together.
inline constexpr std::size_t deep = many_registers ? 4 : 2;

/// Columns j … j + kCols of some rows ← those rows of A·X.
template <class T, std::size_t kCols>
HWY_INLINE void multiply_columns(const PackedColumns<T>& columns, std::size_t row, std::size_t j, const double* upper) {
  constexpr std::size_t n = lanes<double>();
  const std::size_t r = columns.cols;
  WideVector sums[kCols][deep] = {};
  const T* from = columns.data + row;
  for (std::size_t i = 0; i < j + kCols; ++i, from += columns.stride) {
    WideVector x[deep];
    for (std::size_t v = 0; v < deep; ++v) x[v] = load_wide(from + v * n);
    for (std::size_t b = 0; b < kCols; ++b) {
      const WideVector factor = hn::Set(Wide(), upper[i * r + j + b]);
      for (std::size_t v = 0; v < deep; ++v) sums[b][v] = hn::MulAdd(factor, x[v], sums[b][v]);
    }
  }
  for (std::size_t b = 0; b < kCols; ++b) {
    T* const to = columns.data + (j + b) * columns.stride + row;
    for (std::size_t v = 0; v < deep; ++v) store_rounded(sums[b][v], to + v * n);
  }
}

/// From the last columns to the first: those are made of themselves and the ones before.
template <class T>
void multiply_right(const PackedColumns<T>& columns, const double* upper) {
  static_assert(deep * HWY_LANES(double) <= solve_rows);
  for (std::size_t row = 0; row < columns.rows; row += deep * lanes<double>()) {
    std::size_t j = columns.cols;
    for (; j >= abreast; j -= abreast) multiply_columns<T, abreast>(columns, row, j - abreast, upper);
    for (; j > 0; --j) multiply_columns<T, 1>(columns, row, j - 1, upper);
  }
}

/// Rows whose products with one row of X are taken together.
inline constexpr std::size_t rows_abreast = 8;

/// A vector of columns from j on of kRows rows. Lanes run along the row.
template <class T, std::size_t kRows>
HWY_INLINE void add_product_to(T* rows_of, std::size_t cols, std::size_t j, const T* upper, std::size_t stride) {
  const Tag<T> d;
  const std::size_t left = cols - j;
  const std::size_t last = std::min(cols, j + lanes<T>());
  Vector<T> sums[kRows] = {};
  for (std::size_t k = 0; k < last; ++k) {
    const Vector<T> factors = hn::LoadU(d, upper + k * stride + j);
    for (std::size_t a = 0; a < kRows; ++a) {
      sums[a] = hn::MulAdd(hn::Set(d, rows_of[a * cols + k]), factors, sums[a]);
    }
  }
  for (std::size_t a = 0; a < kRows; ++a) {
    T* const to = rows_of + a * cols + j;
    if (left >= lanes<T>()) {
      hn::StoreU(hn::Add(hn::LoadU(d, to), sums[a]), d, to);
    } else {
      store_part(hn::Add(load_part<T>(to, left), sums[a]), to, left);
    }
  }
}

/// From the last columns to the first: those are made of themselves and the ones before.
template <class T>
void add_product(T* rows_of, std::size_t rows, std::size_t cols, const T* upper, std::size_t stride) {
  constexpr std::size_t n = lanes<T>();
  const std::size_t vectors_of_cols = (cols + n - 1) / n;
  std::size_t row = 0;
  for (; row + rows_abreast <= rows; row += rows_abreast) {
    for (std::size_t v = vectors_of_cols; v > 0; --v) {
      add_product_to<T, rows_abreast>(rows_of + row * cols, cols, (v - 1) * n, upper, stride);
    }
  }
  for (; row < rows; ++row) {
    for (std::size_t v = vectors_of_cols; v > 0; --v) {
      add_product_to<T, 1>(rows_of + row * cols, cols, (v - 1) * n, upper, stride);
    }
  }
}

template <class T>
void fill(Kernels<T>& kernels) {
  kernels.gram = gram<T>;
  kernels.solve_right = solve_right<T>;
  kernels.multiply_right = multiply_right<T>;
  kernels.add_product = add_product<T>;
}

void fill_both(Kernels<float>& single, Kernels<double>& twofold) {
  fill(single);
  fill(twofold);
}

}  // namespace
}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::backend::kernels {
HWY_EXPORT(fill_both);
void add_tall_triangles(Kernels<float>& single, Kernels<double>& twofold) {
  HWY_DYNAMIC_DISPATCH(fill_both)(single, twofold);
}
}  // namespace psgd::backend::kernels
#endif
