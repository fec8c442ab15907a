// Between row-major factors and packed ones, whose columns are contiguous.
//
// A transposition by squares of 16 bytes: a vector holds a piece of as many rows as it has such blocks, each some rows
// further down, so that interleaving within the blocks leaves whole vectors of a column.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/packing.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/vectors-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

/// Rows whose columns are gathered together: they stay in the first-level cache.
inline constexpr std::size_t group_rows = 64;

#if HWY_TARGET == HWY_SCALAR

template <class T>
std::size_t pack_squares(const T* /*rows_of*/, std::size_t /*rows*/, std::size_t /*cols*/, T* /*packed*/,
                         std::size_t /*stride*/) {
  return 0;
}

template <class T>
std::size_t unpack_squares(const T* /*packed*/, std::size_t /*stride*/, std::size_t /*rows*/, std::size_t /*cols*/,
                           T* /*rows_of*/) {
  return 0;
}

#else

/// Vectors of one or two blocks of 16 bytes.
template <class T>
using BlockTag = hn::CappedTag<T, 32 / sizeof(T)>;
template <class T>
using BlockVector = hn::Vec<BlockTag<T>>;

/// Elements of a block: the side of the squares.
template <class T>
inline constexpr std::size_t side = 16 / sizeof(T);

/// Rows that are transposed together: those of one vector of a column.
template <class T>
inline constexpr std::size_t height = HWY_MIN(HWY_LANES(T), 32 / sizeof(T));

/// A block from each of the rows i, i + side, …
template <class T>
HWY_INLINE BlockVector<T> load_blocks(const T* from, std::size_t stride) {
  const BlockTag<T> d;
  if constexpr (height<T> == side<T>) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<BlockTag<T>> half;
    return hn::Combine(d, hn::LoadU(half, from + side<T> * stride), hn::LoadU(half, from));
  }
}

template <class T>
HWY_INLINE void store_blocks(BlockVector<T> value, T* to, std::size_t stride) {
  const BlockTag<T> d;
  if constexpr (height<T> == side<T>) {
    hn::StoreU(value, d, to);
  } else {
    const hn::Half<BlockTag<T>> half;
    hn::StoreU(hn::LowerHalf(half, value), half, to);
    hn::StoreU(hn::UpperHalf(half, value), half, to + side<T> * stride);
  }
}

/// Transposes the square in each block position of `side` vectors.
HWY_INLINE void transpose(BlockVector<double> (&v)[2]) {
  const BlockTag<double> d;
  const BlockVector<double> low = hn::InterleaveLower(d, v[0], v[1]);
  v[1] = hn::InterleaveUpper(d, v[0], v[1]);
  v[0] = low;
}

HWY_INLINE void transpose(BlockVector<float> (&v)[4]) {
  const BlockTag<float> d;
  const hn::Repartition<double, BlockTag<float>> pairs;
  const auto a = hn::BitCast(pairs, hn::InterleaveLower(d, v[0], v[1]));
  const auto b = hn::BitCast(pairs, hn::InterleaveUpper(d, v[0], v[1]));
  const auto c = hn::BitCast(pairs, hn::InterleaveLower(d, v[2], v[3]));
  const auto e = hn::BitCast(pairs, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(pairs, a, c));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, a, c));
  v[2] = hn::BitCast(d, hn::InterleaveLower(pairs, b, e));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, b, e));
}

/// Packs all rows that fill whole vectors, in the columns that fill whole squares; returns how many rows that are.
template <class T>
std::size_t pack_squares(const T* rows_of, std::size_t rows, std::size_t cols, T* packed, std::size_t stride) {
  const BlockTag<T> d;
  std::size_t i = 0;
  for (; i + height<T> <= rows; i += height<T>) {
    for (std::size_t k = 0; k + side<T> <= cols; k += side<T>) {
      BlockVector<T> square[side<T>];
      for (std::size_t a = 0; a < side<T>; ++a) square[a] = load_blocks(rows_of + (i + a) * cols + k, cols);
      transpose(square);
      for (std::size_t a = 0; a < side<T>; ++a) hn::StoreU(square[a], d, packed + (k + a) * stride + i);
    }
  }
  return i;
}

template <class T>
std::size_t unpack_squares(const T* packed, std::size_t stride, std::size_t rows, std::size_t cols, T* rows_of) {
  const BlockTag<T> d;
  std::size_t i = 0;
  for (; i + height<T> <= rows; i += height<T>) {
    for (std::size_t k = 0; k + side<T> <= cols; k += side<T>) {
      BlockVector<T> square[side<T>];
      for (std::size_t a = 0; a < side<T>; ++a) square[a] = hn::LoadU(d, packed + (k + a) * stride + i);
      transpose(square);
      for (std::size_t a = 0; a < side<T>; ++a) store_blocks(square[a], rows_of + (i + a) * cols + k, cols);
    }
  }
  return i;
}

#endif

/// The elements that rows [begin, end) have in the columns from `first` on, one by one.
template <class T>
void pack_rest(const T* rows_of, std::size_t begin, std::size_t end, std::size_t first, std::size_t cols, T* packed,
               std::size_t stride) {
  for (std::size_t group = begin; group < end; group += group_rows) {
    const std::size_t stop = std::min(end, group + group_rows);
    for (std::size_t k = first; k < cols; ++k) {
      for (std::size_t i = group; i < stop; ++i) packed[k * stride + i] = rows_of[i * cols + k];
    }
  }
}

template <class T>
void unpack_rest(const T* packed, std::size_t stride, std::size_t begin, std::size_t end, std::size_t first,
                 std::size_t cols, T* rows_of) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t k = first; k < cols; ++k) rows_of[i * cols + k] = packed[k * stride + i];
  }
}

/// Columns that fill whole squares, which the rows below `rows` have been transposed in.
template <class T>
std::size_t square_cols(std::size_t cols, std::size_t rows) {
  constexpr std::size_t width = 16 / sizeof(T);
  return rows == 0 ? 0 : cols / width * width;
}

template <class T>
void pack(const T* rows_of, std::size_t rows, std::size_t cols, T* packed, std::size_t stride) {
  if (cols == 1) {
    std::copy_n(rows_of, rows, packed);
  } else {
    const std::size_t done = pack_squares(rows_of, rows, cols, packed, stride);
    pack_rest(rows_of, 0, done, square_cols<T>(cols, done), cols, packed, stride);
    pack_rest(rows_of, done, rows, 0, cols, packed, stride);
  }
  const std::size_t whole = (rows + lanes<T>() - 1) / lanes<T>() * lanes<T>();
  for (std::size_t k = 0; k < cols; ++k) std::fill(packed + k * stride + rows, packed + k * stride + whole, T{0});
}

template <class T>
void unpack(const T* packed, std::size_t stride, std::size_t rows, std::size_t cols, T* rows_of) {
  if (cols == 1) {
    std::copy_n(packed, rows, rows_of);
    return;
  }
  const std::size_t done = unpack_squares(packed, stride, rows, cols, rows_of);
  unpack_rest(packed, stride, 0, done, square_cols<T>(cols, done), cols, rows_of);
  unpack_rest(packed, stride, done, rows, 0, cols, rows_of);
}

void fill(Kernels<float>& single, Kernels<double>& twofold) {
  single.pack = pack<float>;
  single.unpack = unpack<float>;
  twofold.pack = pack<double>;
  twofold.unpack = unpack<double>;
}

}  // namespace
}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::backend::kernels {
HWY_EXPORT(fill);
void add_packing(Kernels<float>& single, Kernels<double>& twofold) { HWY_DYNAMIC_DISPATCH(fill)(single, twofold); }
}  // namespace psgd::backend::kernels
#endif
