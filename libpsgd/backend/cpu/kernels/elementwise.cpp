// Kernels over runs of elements.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/elementwise.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/runs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

struct Addition {
  template <class V>
  HWY_INLINE V operator()(V destination, V source) const {
    return hn::Add(destination, source);
  }
};

struct Subtraction {
  template <class V>
  HWY_INLINE V operator()(V destination, V source) const {
    return hn::Sub(destination, source);
  }
};

/// destination ← operation(destination, source)
template <class T, class Operation>
HWY_INLINE void update(const T* HWY_RESTRICT source, T* HWY_RESTRICT destination, std::size_t count, Operation op) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  std::size_t i = 0;
  for (; i + n <= count; i += n) {
    hn::StoreU(op(hn::LoadU(d, destination + i), hn::LoadU(d, source + i)), d, destination + i);
  }
  if (i < count) {
    const std::size_t left = count - i;
    store_part(op(load_part(destination + i, left), load_part(source + i, left)), destination + i, left);
  }
}

template <class T>
void add(const T* source, T* destination, std::size_t count) {
  update(source, destination, count, Addition());
}

template <class T>
void subtract(const T* source, T* destination, std::size_t count) {
  update(source, destination, count, Subtraction());
}

template <class T>
void divide(const T* source, T divisor, T* destination, std::size_t count) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  const Vector<T> by = hn::Set(d, divisor);
  std::size_t i = 0;
  for (; i + n <= count; i += n) hn::StoreU(hn::Div(hn::LoadU(d, source + i), by), d, destination + i);
  if (i < count) store_part(hn::Div(load_part(source + i, count - i), by), destination + i, count - i);
}

template <class T>
void scale(const T* source, T factor, T* destination, std::size_t count) {
  constexpr std::size_t n = lanes<T>();
  const Tag<T> d;
  const Vector<T> by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + n <= count; i += n) hn::StoreU(hn::Mul(hn::LoadU(d, source + i), by), d, destination + i);
  if (i < count) store_part(hn::Mul(load_part(source + i, count - i), by), destination + i, count - i);
}

template <class T>
void fill(Kernels<T>& kernels) {
  kernels.sum_squares = sum_squares<T>;
  kernels.add_sum_squares = add_sum_squares<T>;
  kernels.compare = compare<T>;
  kernels.add = add<T>;
  kernels.subtract = subtract<T>;
  kernels.divide = divide<T>;
  kernels.scale = scale<T>;
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
void add_elementwise(Kernels<float>& single, Kernels<double>& twofold) {
  HWY_DYNAMIC_DISPATCH(fill_both)(single, twofold);
}
}  // namespace psgd::backend::kernels
#endif
