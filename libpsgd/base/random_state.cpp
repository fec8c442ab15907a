#include "libpsgd/base/random_state.hpp"

#include <bit>

#include "libpsgd/base/error.hpp"

namespace psgd {

std::uint32_t RandomState::randint(std::uint32_t high) {
  if (high == 0) {
    throw Error::usage("randint: the upper bound must be at least 1");
  }
  const std::uint32_t largest = high - 1;
  if (largest == 0) {
    return 0;  // NumPy leaves the stream untouched when there is nothing to choose.
  }
  const std::uint32_t mask = ~std::uint32_t{0} >> std::countl_zero(largest);
  std::uint32_t value = engine_.next32() & mask;
  while (value > largest) {
    value = engine_.next32() & mask;
  }
  return value;
}

}  // namespace psgd
