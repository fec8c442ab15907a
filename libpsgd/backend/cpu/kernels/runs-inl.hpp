// Kernels over runs of elements, also used tile by tile inside the passes over matrices. Included once a level.

#if defined(PSGD_KERNELS_RUNS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef PSGD_KERNELS_RUNS_INL_HPP
#undef PSGD_KERNELS_RUNS_INL_HPP
#else
#define PSGD_KERNELS_RUNS_INL_HPP
#endif

#include <cstddef>

#include "libpsgd/backend/cpu/kernels/kernels.hpp"
#include "libpsgd/backend/cpu/kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {

/// How far ahead of its use a stream of memory is asked for.
inline constexpr std::size_t prefetch_bytes = 1024;

template <class T>
HWY_INLINE void fetch_ahead(const T* at) {
  fetch(at, prefetch_bytes / sizeof(T));
}

/// Σ values²
template <class T>
double sum_squares(const T* HWY_RESTRICT values, std::size_t count) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  Sum<T> even;
  Sum<T> odd;
  std::size_t i = 0;
  for (; i + 2 * n <= count; i += 2 * n) {
    fetch_ahead(values + i);
    even.add_square(widen(hn::LoadU(d, values + i)));
    odd.add_square(widen(hn::LoadU(d, values + i + n)));
  }
  for (; i < count; i += n) {
    const std::size_t left = count - i;
    even.add_square(widen(left >= n ? hn::LoadU(d, values + i) : load_part(values + i, left)));
  }
  even.add(odd);
  return even.total();
}

/// destination ← destination + source; returns Σ destination²
template <class T>
double add_sum_squares(const T* HWY_RESTRICT source, T* HWY_RESTRICT destination, std::size_t count) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  Sum<T> even;
  Sum<T> odd;
  std::size_t i = 0;
  for (; i + 2 * n <= count; i += 2 * n) {
    fetch_ahead(source + i);
    fetch_ahead(destination + i);
    const Vector<T> first = hn::Add(hn::LoadU(d, destination + i), hn::LoadU(d, source + i));
    const Vector<T> second = hn::Add(hn::LoadU(d, destination + i + n), hn::LoadU(d, source + i + n));
    hn::StoreU(first, d, destination + i);
    hn::StoreU(second, d, destination + i + n);
    even.add_square(widen(first));
    odd.add_square(widen(second));
  }
  for (; i + n <= count; i += n) {
    const Vector<T> sum = hn::Add(hn::LoadU(d, destination + i), hn::LoadU(d, source + i));
    hn::StoreU(sum, d, destination + i);
    even.add_square(widen(sum));
  }
  if (i < count) {
    const Vector<T> sum = hn::Add(load_part(destination + i, count - i), load_part(source + i, count - i));
    store_part(sum, destination + i, count - i);
    even.add_square(widen(sum));
  }
  even.add(odd);
  return even.total();
}

/// The sums of TensorSums, a vector at a time.
template <class T>
class ComparisonSums {
 public:
  HWY_INLINE void add(Vector<T> output, Vector<T> reference) {
    const Widened<T> o = widen(output);
    const Widened<T> g = widen(reference);
    gradient_.add_square(g);
    averaged_.add_square(o);
    difference_.add_square_of_difference(o, g);
    dot_.add_product(o, g);
  }
  HWY_INLINE void add(const ComparisonSums& other) {
    gradient_.add(other.gradient_);
    averaged_.add(other.averaged_);
    difference_.add(other.difference_);
    dot_.add(other.dot_);
  }
  [[nodiscard]] HWY_INLINE TensorSums total() const {
    return {gradient_.total(), averaged_.total(), difference_.total(), dot_.total()};
  }

 private:
  Sum<T> gradient_;
  Sum<T> averaged_;
  Sum<T> difference_;
  Sum<T> dot_;
};

template <class T>
TensorSums compare(const T* HWY_RESTRICT output, const T* HWY_RESTRICT reference, std::size_t count) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  ComparisonSums<T> sums;
  std::size_t i = 0;
  for (; i + n <= count; i += n) {
    fetch_ahead(output + i);
    fetch_ahead(reference + i);
    sums.add(hn::LoadU(d, output + i), hn::LoadU(d, reference + i));
  }
  if (i < count) sums.add(load_part(output + i, count - i), load_part(reference + i, count - i));
  return sums.total();
}

}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per level
