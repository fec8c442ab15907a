#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "libpsgd/orthogonalize/method.hpp"
#include "tests/backend/factors.hpp"

/// What the tests of orthogonalization methods share.
namespace psgd::orthogonalize::test {

using backend::test::Matrix;
using backend::test::orthogonality_of;
using backend::test::Random;
using backend::test::roundoff;
using backend::test::span_residual;

inline std::vector<std::string_view> method_names() {
  std::vector<std::string_view> names;
  for (const Method& one : methods()) names.push_back(one.name);
  return names;
}

inline bool is_half(std::string_view name) { return name == "half-gram-schmidt" || name == "bfloat16-gram-schmidt"; }

/// What the method makes of one factor.
template <class T>
std::vector<T> run(backend::Backend<T>& backend, std::string_view name, std::vector<T> values, std::int64_t rows,
                   std::int64_t cols, double epsilon = 0) {
  const backend::Factor<T> factor{values.data(), rows, cols};
  orthogonalize<T>(backend, std::span(&factor, 1), {&method(name), epsilon, false});
  backend.synchronize();
  return values;
}

}  // namespace psgd::orthogonalize::test
