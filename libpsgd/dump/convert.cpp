#include "libpsgd/dump/convert.hpp"

#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/dump/convert.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// foreach_target.h has to come first.
#include <hwy/highway.h>

#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace psgd::dump::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V swap16(D /*d*/, V v) {
  return hn::Or(hn::ShiftLeft<8>(v), hn::ShiftRight<8>(v));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V swap32(D d, V v) {
  const V low = hn::Set(d, 0x00FF00FFU);
  const V bytes = hn::Or(hn::ShiftLeft<8>(hn::And(v, low)), hn::And(hn::ShiftRight<8>(v), low));
  return hn::Or(hn::ShiftLeft<16>(bytes), hn::ShiftRight<16>(bytes));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V swap64(D d, V v) {
  const V bytes = hn::Set(d, 0x00FF00FF00FF00FFU);
  const V pairs = hn::Set(d, 0x0000FFFF0000FFFFU);
  v = hn::Or(hn::ShiftLeft<8>(hn::And(v, bytes)), hn::And(hn::ShiftRight<8>(v), bytes));
  v = hn::Or(hn::ShiftLeft<16>(hn::And(v, pairs)), hn::And(hn::ShiftRight<16>(v), pairs));
  return hn::Or(hn::ShiftLeft<32>(v), hn::ShiftRight<32>(v));
}

// Highway's emulations clamp infinities to the largest number here.
template <class DD, class V = hn::Vec<DD>>
HWY_INLINE void store_as_floats(DD d, V v, float* out) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN double lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) out[i] = static_cast<float>(lanes[i]);
#else
  const hn::Rebind<float, DD> df;
  hn::StoreU(hn::DemoteTo(df, v), df, out);
#endif
}

// Highway's own promotion turns infinities and NaN into large numbers where the processor has no instruction for it.
template <class DF, class V16>
HWY_INLINE hn::Vec<DF> promote_half(DF df, V16 half) {
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64
  const hn::Rebind<hwy::float16_t, DF> df16;
  return hn::PromoteTo(df, hn::BitCast(df16, half));
#else
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const auto bits = hn::PromoteTo(du, half);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFU));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000U)));
  const auto rebias = hn::Set(du, (127U - 15U) << 23);
  const auto is_special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7BFF));
  const auto is_subnormal = hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, 0x0400));
  auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  normal = hn::Add(normal, hn::IfThenElseZero(hn::RebindMask(du, is_special), rebias));
  const auto subnormal = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, magnitude)), hn::Set(df, 0x1p-24F));
  const auto value = hn::IfThenElse(hn::RebindMask(du, is_subnormal), hn::BitCast(du, subnormal), normal);
  return hn::BitCast(df, hn::Or(value, sign));
#endif
}

// Each loads as many numbers as `d` has lanes, from the one at `index` on, as floats or doubles.
template <bool swapped>
struct Half {
  static constexpr std::size_t size = 2;
  template <class DF>
  static HWY_INLINE hn::Vec<DF> load(DF df, const void* source, std::size_t index) {
    const hn::Rebind<std::uint16_t, DF> d16;
    auto bits = hn::LoadU(d16, static_cast<const std::uint16_t*>(source) + index);
    if constexpr (swapped) bits = swap16(d16, bits);
    return promote_half(df, bits);
  }
};

template <bool swapped>
struct Brain {
  static constexpr std::size_t size = 2;
  template <class DF>
  static HWY_INLINE hn::Vec<DF> load(DF df, const void* source, std::size_t index) {
    const hn::Rebind<std::uint16_t, DF> d16;
    auto bits = hn::LoadU(d16, static_cast<const std::uint16_t*>(source) + index);
    if constexpr (swapped) bits = swap16(d16, bits);
    return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<DF>(), bits)));
  }
};

template <bool swapped>
struct Single {
  static constexpr std::size_t size = 4;
  template <class DF>
  static HWY_INLINE hn::Vec<DF> load(DF df, const void* source, std::size_t index) {
    const hn::RebindToUnsigned<DF> d32;
    auto bits = hn::LoadU(d32, static_cast<const std::uint32_t*>(source) + index);
    if constexpr (swapped) bits = swap32(d32, bits);
    return hn::BitCast(df, bits);
  }
};

template <bool swapped>
struct Double {
  static constexpr std::size_t size = 8;
  template <class DD>
  static HWY_INLINE hn::Vec<DD> load(DD dd, const void* source, std::size_t index) {
    const hn::RebindToUnsigned<DD> d64;
    auto bits = hn::LoadU(d64, static_cast<const std::uint64_t*>(source) + index);
    if constexpr (swapped) bits = swap64(d64, bits);
    return hn::BitCast(dd, bits);
  }
};

// Beyond a core's cache, fetching what is about to be overwritten would double the traffic: such stores go around the
// cache.
constexpr std::size_t least_streamed_bytes = std::size_t{256} << 10;

// Stores one vector of what the source loads as; the lanes of `d` are those of the wider of the two types.
template <class Source, class T>
struct Step {
  static constexpr bool narrows = Source::size == 8 && sizeof(T) == 4;
  using D = hn::ScalableTag<std::conditional_t<sizeof(T) == 8 || narrows, double, float>>;

  template <bool streamed>
  static HWY_INLINE void run(const void* source, std::size_t index, T* out) {
    const D d;
    if constexpr (narrows) {
      store_as_floats(d, Source::load(d, source, index), out);
    } else if constexpr (sizeof(T) == 8 && Source::size != 8) {
      const hn::Rebind<float, D> df;
      store<streamed>(hn::PromoteTo(d, Source::load(df, source, index)), out);
    } else {
      store<streamed>(Source::load(d, source, index), out);
    }
  }

 private:
  template <bool streamed>
  static HWY_INLINE void store(hn::Vec<D> v, T* out) {
    if constexpr (streamed) {
      hn::Stream(v, D(), out);
    } else {
      hn::StoreU(v, D(), out);
    }
  }
};

// Fewer numbers than a vector has pass through a full one, so that every number sees the same arithmetic.
template <class Source, class T>
void convert_few(const void* source, std::size_t count, T* out) {
  using S = Step<Source, T>;
  HWY_ALIGN std::uint8_t in[hn::MaxLanes(typename S::D()) * Source::size] = {};
  HWY_ALIGN T values[hn::MaxLanes(typename S::D())];
  std::memcpy(in, source, count * Source::size);
  S::template run<false>(in, 0, values);
  std::memcpy(out, values, count * sizeof(T));
}

template <class Source, class T, bool streamed>
void convert_vectors(const void* source, std::size_t count, T* out) {
  using S = Step<Source, T>;
  const std::size_t lanes = hn::Lanes(typename S::D());
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    S::template run<streamed>(source, i, out + i);
    S::template run<streamed>(source, i + lanes, out + i + lanes);
    S::template run<streamed>(source, i + 2 * lanes, out + i + 2 * lanes);
    S::template run<streamed>(source, i + 3 * lanes, out + i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) S::template run<streamed>(source, i, out + i);
  if (i < count) convert_few<Source>(static_cast<const std::uint8_t*>(source) + i * Source::size, count - i, out + i);
}

template <class Source, class T>
void convert_all(const void* source, std::size_t count, T* out) {
  using S = Step<Source, T>;
  if (S::narrows || count * sizeof(T) < least_streamed_bytes) {
    convert_vectors<Source, T, false>(source, count, out);
    return;
  }
  const std::size_t vector_bytes = hn::Lanes(typename S::D()) * sizeof(T);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(out) % vector_bytes;
  const std::size_t head = beyond == 0 ? 0 : (vector_bytes - beyond) / sizeof(T);
  convert_few<Source>(source, head, out);
  convert_vectors<Source, T, true>(static_cast<const std::uint8_t*>(source) + head * Source::size, count - head,
                                   out + head);
  hwy::FlushStream();
}

template <class T>
void convert_any(StoredType from, const void* source, std::size_t count, T* out) {
  switch (from.dtype) {
    case DType::float16:
      return from.swapped ? convert_all<Half<true>>(source, count, out) : convert_all<Half<false>>(source, count, out);
    case DType::bfloat16:
      return from.swapped ? convert_all<Brain<true>>(source, count, out)
                          : convert_all<Brain<false>>(source, count, out);
    case DType::float32:
      return from.swapped ? convert_all<Single<true>>(source, count, out)
                          : convert_all<Single<false>>(source, count, out);
    case DType::float64:
      return from.swapped ? convert_all<Double<true>>(source, count, out)
                          : convert_all<Double<false>>(source, count, out);
  }
}

void convert_to_float(StoredType from, const void* source, std::size_t count, float* out) {
  convert_any(from, source, count, out);
}

void convert_to_double(StoredType from, const void* source, std::size_t count, double* out) {
  convert_any(from, source, count, out);
}

#if HWY_TARGET != HWY_SCALAR
// Each gathers one vector's worth of elements per byte plane and says how many elements that was.
std::size_t unshuffle2(const std::uint8_t* source, std::size_t elements, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= elements; i += lanes) {
    hn::StoreInterleaved2(hn::LoadU(d, source + i), hn::LoadU(d, source + elements + i), d, out + 2 * i);
  }
  return i;
}

std::size_t unshuffle4(const std::uint8_t* source, std::size_t elements, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= elements; i += lanes) {
    hn::StoreInterleaved4(hn::LoadU(d, source + i), hn::LoadU(d, source + elements + i),
                          hn::LoadU(d, source + 2 * elements + i), hn::LoadU(d, source + 3 * elements + i), d,
                          out + 4 * i);
  }
  return i;
}

std::size_t unshuffle8(const std::uint8_t* source, std::size_t elements, std::uint8_t* out) {
  // Pairs of planes become planes of 16-bit units, in two halves; four of those interleave as with 4 bytes.
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::uint8_t pairs[4][2 * hn::MaxLanes(d)];
  std::size_t i = 0;
  for (; i + lanes <= elements; i += lanes) {
    for (std::size_t p = 0; p < 4; ++p) {
      hn::StoreInterleaved2(hn::LoadU(d, source + 2 * p * elements + i),
                            hn::LoadU(d, source + (2 * p + 1) * elements + i), d, pairs[p]);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      const auto plane = [&](std::size_t p) { return hn::BitCast(d16, hn::Load(d, pairs[p] + half * lanes)); };
      auto* target = reinterpret_cast<std::uint16_t*>(out + 8 * i + half * 4 * lanes);
      hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), d16, target);
    }
  }
  return i;
}

#endif

void unshuffle_bytes(const std::uint8_t* source, std::size_t element_size, std::size_t elements, std::uint8_t* out) {
  std::size_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  if (element_size == 2) done = unshuffle2(source, elements, out);
  if (element_size == 4) done = unshuffle4(source, elements, out);
  if (element_size == 8) done = unshuffle8(source, elements, out);
#endif
  for (std::size_t i = done; i < elements; ++i) {
    for (std::size_t k = 0; k < element_size; ++k) out[i * element_size + k] = source[k * elements + i];
  }
}

}  // namespace
}  // namespace psgd::dump::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::dump {
namespace {

HWY_EXPORT(convert_to_float);
HWY_EXPORT(convert_to_double);
HWY_EXPORT(unshuffle_bytes);

}  // namespace

template <>
void convert(StoredType from, const void* source, std::size_t count, float* out) {
  if (count == 0) return;
  if (from == StoredType{DType::float32, false}) {
    std::memcpy(out, source, count * sizeof(float));
  } else {
    HWY_DYNAMIC_DISPATCH(convert_to_float)(from, source, count, out);
  }
}

template <>
void convert(StoredType from, const void* source, std::size_t count, double* out) {
  if (count == 0) return;
  if (from == StoredType{DType::float64, false}) {
    std::memcpy(out, source, count * sizeof(double));
  } else {
    HWY_DYNAMIC_DISPATCH(convert_to_double)(from, source, count, out);
  }
}

void unshuffle(const std::byte* source, std::size_t element_size, std::size_t bytes, std::byte* out) {
  if (bytes == 0) return;
  const std::size_t elements = element_size == 0 ? 0 : bytes / element_size;
  if (element_size <= 1 || elements <= 1) {
    std::memcpy(out, source, bytes);
    return;
  }
  HWY_DYNAMIC_DISPATCH(unshuffle_bytes)
  (reinterpret_cast<const std::uint8_t*>(source), element_size, elements, reinterpret_cast<std::uint8_t*>(out));
  std::memcpy(out + elements * element_size, source + elements * element_size, bytes % element_size);
}

}  // namespace psgd::dump
#endif
