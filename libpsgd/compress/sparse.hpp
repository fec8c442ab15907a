#pragma once

#include <cstdint>

namespace psgd::compress {

/// Throws Error::usage when `fraction` is not in (0, 1].
void check_fraction(double fraction);

/// Elements that are sent of `numel`: at least one of a tensor that has any.
std::int64_t sparse_count(std::int64_t numel, double fraction);

}  // namespace psgd::compress
