#pragma once

#include <cstdint>

#include "libpsgd/base/mt19937.hpp"

namespace psgd {

/// The part of NumPy's legacy `numpy.random.RandomState` that the PowerSGD hook uses: seeding and bounded integers.
///
/// Draws are those of NumPy bit by bit, on every platform. The state is exchangeable with `RandomState.get_state()` /
/// `set_state()` (their Gaussian fields stay unused: 0 and 0.0). Source: numpy/random/mtrand.pyx and
/// _bounded_integers.pyx, whose legacy stream is frozen; the earlier randomkit gives the same numbers.
class RandomState {
 public:
  /// `RandomState(seed)` for an integer seed, 0 … 2^32 − 1; arrays of seeds are initialized differently and not
  /// supported.
  explicit RandomState(std::uint32_t seed) noexcept : engine_(seed) {}

  /// `randint(high)`: uniform over 0 … high − 1. Throws Error::usage when `high` is 0.
  ///
  /// Masks words to the bits of high − 1 and rejects what exceeds it: fewer than two words are drawn on average, none
  /// for high = 1.
  std::uint32_t randint(std::uint32_t high);

  [[nodiscard]] const Mt19937::State& state() const noexcept { return engine_.state(); }

  /// Continues from a state taken earlier. Throws Error::input when its position exceeds 624.
  void set_state(const Mt19937::State& state) { engine_.set_state(state); }

 private:
  Mt19937 engine_;
};

}  // namespace psgd
