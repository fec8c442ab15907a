#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/base/error.hpp"

namespace psgd::orthogonalize {

/// Throws Error::input, naming method and factor, when a factor has fewer rows than columns: its columns cannot all be
/// orthonormal.
template <class T>
void check_tall(std::string_view method, std::span<const backend::Factor<T>> factors) {
  for (const backend::Factor<T>& factor : factors) {
    if (factor.rows < factor.cols) {
      throw Error::input("{} of a {} x {} factor: a factor needs at least as many rows as columns", method, factor.rows,
                         factor.cols);
    }
  }
}

/// Numbers that the Gram matrices of all factors take.
template <class T>
std::size_t gram_size(std::span<const backend::Factor<T>> factors) {
  std::size_t size = 0;
  for (const backend::Factor<T>& factor : factors) size += static_cast<std::size_t>(factor.cols * factor.cols);
  return size;
}

}  // namespace psgd::orthogonalize
