#include "libpsgd/compress/sparse.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/base/error.hpp"

namespace psgd::compress {

void check_fraction(double fraction) {
  if (!(fraction > 0 && fraction <= 1))
    throw Error::usage("the fraction of elements to send must lie in (0, 1], got {}", fraction);
}

std::int64_t sparse_count(std::int64_t numel, double fraction) {
  const auto count = static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(numel)));
  return std::clamp<std::int64_t>(count, std::min<std::int64_t>(numel, 1), numel);
}

}  // namespace psgd::compress
