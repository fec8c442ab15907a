// The mean over process ranks, their deviations from it, and their sums, over a run of elements.
//
// All ranks pass a few vectors at a time, so that each gradient and deviation is read once and the mean never leaves
// the registers before it is subtracted. The sums, too many for the registers, stay in the first-level cache.

#include "libpsgd/backend/cpu/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libpsgd/backend/cpu/kernels/rank_reduction.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "libpsgd/backend/cpu/kernels/register.hpp"
#include "libpsgd/backend/cpu/kernels/vectors-inl.hpp"

#include <new>

HWY_BEFORE_NAMESPACE();
namespace psgd::backend::kernels::HWY_NAMESPACE {
namespace {

/// There are up to three streams a rank, which share the first-level cache.
inline constexpr std::size_t prefetch_distance = 512;

template <class T, bool kPart>
HWY_INLINE Vector<T> load(const T* from, std::size_t count) {
  if constexpr (kPart) return load_part(from, count);
  return hn::LoadU(Tag<T>(), from);
}

template <class T, bool kPart>
HWY_INLINE void store(Vector<T> value, T* to, std::size_t count) {
  if constexpr (kPart) return store_part(value, to, count);
  hn::StoreU(value, Tag<T>(), to);
}

/// The sums of rank w begin at w·(2 + errors): ‖G_w‖², ‖D_w‖², then ⟨E_k, D_w⟩ for each k.
template <class T>
struct Sums {
  Sum<T>* all;
  std::size_t per_rank;

  [[nodiscard]] HWY_INLINE Sum<T>* of(std::size_t rank) const { return all + rank * per_rank; }
};

template <class T, std::size_t kVectors, bool kPart>
HWY_INLINE void form_mean(const RankRun<T>& run, std::size_t at, std::size_t count, Vector<T>* mean) {
  constexpr std::size_t n = lanes<T>();
  for (std::size_t v = 0; v < kVectors; ++v) mean[v] = load<T, kPart>(run.gradients[0] + at + v * n, count);
  fetch(run.gradients[0] + at, prefetch_distance / sizeof(T));
  for (std::size_t w = 1; w < run.ranks; ++w) {
    const T* gradient = run.gradients[w] + at;
    fetch(gradient, prefetch_distance / sizeof(T));
    for (std::size_t v = 0; v < kVectors; ++v) mean[v] = hn::Add(mean[v], load<T, kPart>(gradient + v * n, count));
  }
  const Vector<T> ranks = hn::Set(Tag<T>(), static_cast<T>(run.ranks));
  for (std::size_t v = 0; v < kVectors; ++v) {
    mean[v] = hn::Div(mean[v], ranks);
    store<T, kPart>(mean[v], run.mean + at + v * n, count);
  }
}

/// kVectors vectors of all ranks; of a single partial vector only the first `count` elements.
template <class T, bool kGradients, bool kDeviations, std::size_t kVectors, bool kPart = false>
HWY_INLINE void visit(const RankRun<T>& run, Sums<T> sums, std::size_t at, std::size_t count = 0) {
  constexpr std::size_t n = lanes<T>();
  Vector<T> mean[kVectors];
  if constexpr (kGradients) form_mean<T, kVectors, kPart>(run, at, count, mean);
  for (std::size_t w = 0; w < run.ranks; ++w) {
    Sum<T>* sum = sums.of(w);
    Vector<T> gradient[kVectors];
    if constexpr (kGradients) {
      Sum<T> squares = sum[0];
      for (std::size_t v = 0; v < kVectors; ++v) {
        gradient[v] = load<T, kPart>(run.gradients[w] + at + v * n, count);
        squares.add_square(widen(gradient[v]));
      }
      sum[0] = squares;
    }
    if constexpr (kDeviations) {
      T* to = run.deviations[w] + at;
      fetch(to, prefetch_distance / sizeof(T));
      Sum<T> squares = sum[1];
      Widened<T> deviation[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Vector<T> value = load<T, kPart>(to + v * n, count);
        deviation[v] = widen(value);
        squares.add_square(deviation[v]);
        if constexpr (kGradients) {
          store<T, kPart>(hn::Add(value, hn::Sub(gradient[v], mean[v])), to + v * n, count);
        }
      }
      sum[1] = squares;
      for (std::size_t k = 0; k < run.error_count; ++k) {
        Sum<T> dot = sum[2 + k];
        for (std::size_t v = 0; v < kVectors; ++v) {
          dot.add_product(widen(load<T, kPart>(run.errors[k] + at + v * n, count)), deviation[v]);
        }
        sum[2 + k] = dot;
      }
    }
  }
}

template <class T, bool kGradients, bool kDeviations>
void reduce(const RankRun<T>& run) {
  constexpr std::size_t n = lanes<T>();
  static_assert(sizeof(Sum<T>) <= rank_accumulator_bytes);
  const Sums<T> sums{reinterpret_cast<Sum<T>*>(run.accumulators), 2 + run.error_count};
  for (std::size_t i = 0; i < run.ranks * sums.per_rank; ++i) new (sums.all + i) Sum<T>();
  const std::size_t end = run.begin + run.count;
  std::size_t at = run.begin;
  for (; at + 2 * n <= end; at += 2 * n) visit<T, kGradients, kDeviations, 2>(run, sums, at);
  for (; at + n <= end; at += n) visit<T, kGradients, kDeviations, 1>(run, sums, at);
  if (at < end) visit<T, kGradients, kDeviations, 1, true>(run, sums, at, end - at);
  for (std::size_t w = 0; w < run.ranks; ++w) {
    const Sum<T>* sum = sums.of(w);
    run.sums[w] = {sum[0].total(), sum[1].total()};
    for (std::size_t k = 0; k < run.error_count; ++k) run.dots[w * run.error_count + k] = sum[2 + k].total();
  }
}

template <class T>
void reduce_ranks(const RankRun<T>& run) {
  if (run.gradients == nullptr) return reduce<T, false, true>(run);
  run.deviations == nullptr ? reduce<T, true, false>(run) : reduce<T, true, true>(run);
}

void fill(Kernels<float>& single, Kernels<double>& twofold) {
  single.reduce_ranks = reduce_ranks<float>;
  twofold.reduce_ranks = reduce_ranks<double>;
}

}  // namespace
}  // namespace psgd::backend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace psgd::backend::kernels {
HWY_EXPORT(fill);
void add_rank_reduction(Kernels<float>& single, Kernels<double>& twofold) {
  HWY_DYNAMIC_DISPATCH(fill)(single, twofold);
}
}  // namespace psgd::backend::kernels
#endif
