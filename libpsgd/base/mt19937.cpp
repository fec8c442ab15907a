#include "libpsgd/base/mt19937.hpp"

#include "libpsgd/base/error.hpp"

namespace psgd {

namespace {

/// The recurrence: the top bit of one word and the low 31 of the next, times the matrix A, added to a word further on.
constexpr std::uint32_t twist(std::uint32_t current, std::uint32_t next, std::uint32_t further) noexcept {
  const std::uint32_t mixed = (current & 0x80000000U) | (next & 0x7fffffffU);
  const std::uint32_t matrix = (next & 1U) != 0 ? 0x9908b0dfU : 0U;
  return further ^ (mixed >> 1) ^ matrix;
}

}  // namespace

void Mt19937::init_genrand(std::uint32_t seed) noexcept {
  std::uint32_t word = seed;
  for (std::uint32_t i = 0; i < word_count; ++i) {
    state_.words[i] = word;
    word = 1812433253U * (word ^ (word >> 30)) + i + 1;
  }
  state_.position = word_count;
}

void Mt19937::set_state(const State& state) {
  if (state.position > word_count) {
    throw Error::input("random generator state: position {} is outside 0 ... {}", state.position, word_count);
  }
  state_ = state;
}

void Mt19937::renew() noexcept {
  constexpr std::size_t middle_offset = 397;
  auto& words = state_.words;
  // Split where the "further" word wraps around to the part already renewed, so that no index needs a modulo.
  for (std::size_t i = 0; i < word_count - middle_offset; ++i) {
    words[i] = twist(words[i], words[i + 1], words[i + middle_offset]);
  }
  for (std::size_t i = word_count - middle_offset; i < word_count - 1; ++i) {
    words[i] = twist(words[i], words[i + 1], words[i + middle_offset - word_count]);
  }
  words[word_count - 1] = twist(words[word_count - 1], words[0], words[middle_offset - 1]);
  state_.position = 0;
}

}  // namespace psgd
