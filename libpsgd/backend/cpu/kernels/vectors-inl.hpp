// What the kernels share at each SIMD level: partial vectors, and sums in float64. Included once a level (Highway's
// foreach_target).

#if defined(PSGD_KERNELS_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef PSGD_KERNELS_VECTORS_INL_HPP
#undef PSGD_KERNELS_VECTORS_INL_HPP
#else
#define PSGD_KERNELS_VECTORS_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

template <class T>
constexpr std::size_t lanes() {
  return HWY_LANES(T);
}

inline constexpr std::size_t cache_line = 64;

template <class T>
constexpr std::size_t lanes_in_line() {
  return cache_line / sizeof(T);
}

/// Asks for the cache line of at[ahead], which need not lie in the array.
template <class T>
HWY_INLINE void fetch(const T* at, std::size_t ahead) {
  // Pointer arithmetic beyond the array is undefined; on integers it is not.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  hwy::Prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(at) + ahead * sizeof(T)));
}

/// 32 registers rather than 16: AVX-512 and NEON.
inline constexpr bool many_registers = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;

/// The first `count` < lanes elements at `from`, then zeros. Touches no memory beyond them.
template <class T>
HWY_INLINE Vector<T> load_part(const T* HWY_RESTRICT from, std::size_t count) {
  const Tag<T> d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3  // masked lanes are not read; elsewhere they might be
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN T lane[lanes<T>()] = {};
  for (std::size_t i = 0; i < count; ++i) lane[i] = from[i];
  return hn::Load(d, lane);
#endif
}

/// Stores the first `count` < lanes elements and touches no memory beyond them.
template <class T>
HWY_INLINE void store_part(Vector<T> value, T* HWY_RESTRICT to, std::size_t count) {
  const Tag<T> d;
  HWY_ALIGN T lane[lanes<T>()];
  hn::Store(value, d, lane);
  for (std::size_t i = 0; i < count; ++i) to[i] = lane[i];
}

/// A vector of T as float64 vectors, lowest lanes first.
template <class T>
struct Widened {
  static constexpr std::size_t parts = sizeof(T) == sizeof(double) || lanes<T>() == 1 ? 1 : 2;
  Vector<double> part[parts];
};

HWY_INLINE Widened<double> widen(Vector<double> value) { return {{value}}; }

HWY_INLINE Widened<float> widen(Vector<float> value) {
  const Tag<double> d;
#if HWY_TARGET == HWY_SCALAR
  return {{hn::PromoteTo(d, value)}};
#else
  const hn::Half<Tag<float>> half;
  return {{hn::PromoteTo(d, hn::LowerHalf(half, value)), hn::PromoteTo(d, hn::UpperHalf(half, value))}};
#endif
}

/// A sum in float64 that vectors of T are added to.
template <class T>
class Sum {
 public:
  static constexpr std::size_t parts = Widened<T>::parts;

  HWY_INLINE void add_product(const Widened<T>& a, const Widened<T>& b) {
    for (std::size_t i = 0; i < parts; ++i) part_[i] = hn::MulAdd(a.part[i], b.part[i], part_[i]);
  }
  HWY_INLINE void add_square(const Widened<T>& a) { add_product(a, a); }
  HWY_INLINE void add_square_of_difference(const Widened<T>& a, const Widened<T>& b) {
    for (std::size_t i = 0; i < parts; ++i) {
      const Vector<double> difference = hn::Sub(a.part[i], b.part[i]);
      part_[i] = hn::MulAdd(difference, difference, part_[i]);
    }
  }
  HWY_INLINE void add(const Sum& other) {
    for (std::size_t i = 0; i < parts; ++i) part_[i] = hn::Add(part_[i], other.part_[i]);
  }
  [[nodiscard]] HWY_INLINE double total() const {
    const Tag<double> d;
    Vector<double> sum = part_[0];
    for (std::size_t i = 1; i < parts; ++i) sum = hn::Add(sum, part_[i]);
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

 private:
  Vector<double> part_[parts] = {};
};

}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per level
