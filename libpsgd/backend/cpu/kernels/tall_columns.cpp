// Kernels over the packed columns of a tall factor. Sums of products are float64.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/tall_columns.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/vectors-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

/// Columns that meet another one in registers.
inline constexpr std::size_t together = many_registers ? 4 : 2;

template <class T>
HWY_INLINE Vector<T> load_upto(const T* from, std::size_t left) {
  return left >= lanes<T>() ? hn::LoadU(Tag<T>(), from) : load_part(from, left);
}

template <class T>
HWY_INLINE void store_upto(Vector<T> value, T* to, std::size_t left) {
  left >= lanes<T>() ? hn::StoreU(value, Tag<T>(), to) : store_part(value, to, left);
}

HWY_INLINE Vector<double> narrow(const Widened<double>& value, double /*type*/) { return value.part[0]; }

HWY_INLINE Vector<float> narrow(const Widened<float>& value, float /*type*/) {
#if HWY_TARGET == HWY_SCALAR
  return hn::DemoteTo(Tag<float>(), value.part[0]);
#else
  const hn::Half<Tag<float>> half;
  return hn::Combine(Tag<float>(), hn::DemoteTo(half, value.part[1]), hn::DemoteTo(half, value.part[0]));
#endif
}

template <class T, std::size_t kCols>
void dots_of(const T* column, const T* others, std::size_t stride, std::size_t rows, double* dots) {
  constexpr std::size_t n = lanes<T>();
  Sum<T> sums[kCols];
  for (std::size_t i = 0; i < rows; i += n) {
    const Widened<T> x = widen(load_upto(column + i, rows - i));
    for (std::size_t c = 0; c < kCols; ++c) {
      sums[c].add_product(x, widen(load_upto(others + c * stride + i, rows - i)));
    }
  }
  for (std::size_t c = 0; c < kCols; ++c) dots[c] = sums[c].total();
}

template <class T>
void dots(const T* column, const PackedColumns<T>& others, double* dots) {
  std::size_t c = 0;
  for (; c + together <= others.cols; c += together) {
    dots_of<T, together>(column, others.data + c * others.stride, others.stride, others.rows, dots + c);
  }
  for (; c < others.cols; ++c) {
    dots_of<T, 1>(column, others.data + c * others.stride, others.stride, others.rows, dots + c);
  }
}

template <class T, std::size_t kCols>
void subtract_multiples_of(const T* column, const T* factors, T* from, std::size_t stride, std::size_t rows) {
  constexpr std::size_t n = lanes<T>();
  for (std::size_t i = 0; i < rows; i += n) {
    const Vector<T> x = load_upto(column + i, rows - i);
    for (std::size_t c = 0; c < kCols; ++c) {
      T* const at = from + c * stride + i;
      // Rounded twice, as PyTorch's tensor expressions are, not fused.
      const Vector<T> product = hn::Mul(hn::Set(Tag<T>(), factors[c]), x);
      store_upto(hn::Sub(load_upto<T>(at, rows - i), product), at, rows - i);
    }
  }
}

template <class T>
void subtract_multiples(const T* column, const T* factors, const PackedColumns<T>& from) {
  std::size_t c = 0;
  for (; c + together <= from.cols; c += together) {
    subtract_multiples_of<T, together>(column, factors + c, from.data + c * from.stride, from.stride, from.rows);
  }
  for (; c < from.cols; ++c) {
    subtract_multiples_of<T, 1>(column, factors + c, from.data + c * from.stride, from.stride, from.rows);
  }
}

template <class T>
double subtract_combination(const PackedColumns<T>& columns, const double* factors, T* from) {
  constexpr std::size_t n = lanes<T>();
  constexpr std::size_t parts = Widened<T>::parts;
  Sum<T> squares;
  for (std::size_t i = 0; i < columns.rows; i += n) {
    const std::size_t left = columns.rows - i;
    Widened<T> rest = widen(load_upto<T>(from + i, left));
    for (std::size_t c = 0; c < columns.cols; ++c) {
      const Vector<double> factor = hn::Set(Tag<double>(), factors[c]);
      const Widened<T> x = widen(load_upto<T>(columns.data + c * columns.stride + i, left));
      for (std::size_t p = 0; p < parts; ++p) rest.part[p] = hn::NegMulAdd(factor, x.part[p], rest.part[p]);
    }
    const Vector<T> rounded = narrow(rest, T{});
    store_upto(rounded, from + i, left);
    squares.add_square(widen(rounded));
  }
  return squares.total();
}

void fill(Kernels<float>& single, Kernels<double>& twofold) {
  single.dots = dots<float>;
  single.subtract_multiples = subtract_multiples<float>;
  single.subtract_combination = subtract_combination<float>;
  twofold.dots = dots<double>;
  twofold.subtract_multiples = subtract_multiples<double>;
  twofold.subtract_combination = subtract_combination<double>;
}

}  // namespace
}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::backend::kernels {
HWY_EXPORT(fill);
void add_tall_columns(Kernels<float>& single, Kernels<double>& twofold) { HWY_DYNAMIC_DISPATCH(fill)(single, twofold); }
}  // namespace psgd::backend::kernels
#endif
