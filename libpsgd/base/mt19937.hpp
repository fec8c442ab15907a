#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace psgd {

/// The 32-bit Mersenne Twister MT19937: the stream of words under both NumPy's RandomState and PyTorch's CPU generator.
///
/// Period 2^19937 − 1; 2.5 KB of state; a draw costs a few instructions and, once in 624, a pass over the state. Output
/// is the same on every platform. Not for cryptography. Source: Matsumoto & Nishimura, ACM TOMACS 8(1), 1998, with the
/// 2002 initialization.
class Mt19937 {
 public:
  static constexpr std::size_t word_count = 624;

  /// What a state file stores, in the convention of NumPy's `RandomState.get_state()`: `words` is the key and
  /// `position`, 0 … 624, the index of the next word to hand out; 624 (as right after seeding) means that all are spent
  /// and the next draw renews them first.
  struct State {
    std::array<std::uint32_t, word_count> words{};
    std::uint32_t position = 0;

    bool operator==(const State&) const = default;
  };

  /// Same as init_genrand(seed) on an existing engine.
  explicit Mt19937(std::uint32_t seed) noexcept { init_genrand(seed); }

  /// Restarts the sequence from `seed`; every value, 0 included, is valid and gives another sequence.
  void init_genrand(std::uint32_t seed) noexcept;

  /// The next word of the sequence, uniform over all 32-bit values.
  std::uint32_t next32() noexcept {
    if (state_.position == word_count) {
      renew();
    }
    return temper(state_.words[state_.position++]);
  }

  [[nodiscard]] const State& state() const noexcept { return state_; }

  /// Continues from a state taken earlier, here or by NumPy. Throws Error::input when its position exceeds 624.
  void set_state(const State& state);

 private:
  static constexpr std::uint32_t temper(std::uint32_t word) noexcept {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
  }

  void renew() noexcept;

  State state_;
};

}  // namespace psgd
