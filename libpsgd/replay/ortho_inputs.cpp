#include "libpsgd/replay/ortho_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/ranges.h>

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/base/torch_generator.hpp"

namespace psgd::replay {
namespace {

using Values = std::vector<double>;

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

Values normals(std::int64_t count, TorchGenerator& generator) {
  Values values(as_size(count));
  generator.randn(std::span<double>(values));
  return values;
}

/// A·B, A rows × inner, B inner × cols
Values product(const Values& a, const Values& b, std::int64_t rows, std::int64_t inner, std::int64_t cols) {
  Values result(as_size(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i) {
    double* const to = result.data() + i * cols;
    for (std::int64_t k = 0; k < inner; ++k) {
      const double factor = a[as_size(i * inner + k)];
      const double* const from = b.data() + k * cols;
      for (std::int64_t j = 0; j < cols; ++j) to[j] += factor * from[j];
    }
  }
  return result;
}

Values orthonormal(std::int64_t rows, std::int64_t cols, TorchGenerator& generator) {
  Values values = normals(rows * cols, generator);
  ThreadPool pool(1);
  const backend::Factor<double> factor{values.data(), rows, cols};
  backend::cpu<double>(pool)->householder(std::span(&factor, 1));
  return values;
}

Values random_factor(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  TorchGenerator generator(seed);
  return normals(rows * cols, generator);
}

/// U·diag(σ)·V, σ from 1 down to 1/condition in equal ratios.
Values with_condition(std::int64_t rows, std::int64_t cols, double condition, std::uint64_t seed) {
  TorchGenerator generator(seed);
  Values u = orthonormal(rows, cols, generator);
  const Values v = orthonormal(cols, cols, generator);
  for (std::int64_t j = 0; j < cols; ++j) {
    const double sigma = std::pow(condition, -static_cast<double>(j) / static_cast<double>(cols - 1));
    for (std::int64_t i = 0; i < rows; ++i) u[as_size(i * cols + j)] *= sigma;
  }
  return product(u, v, rows, cols, cols);
}

template <int kExponent>
Values with_power_of_ten(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  return with_condition(rows, cols, std::pow(10.0, kExponent), seed);
}

Values rank_deficient(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  TorchGenerator generator(seed);
  const std::int64_t rank = (cols + 1) / 2;
  const Values left = normals(rows * rank, generator);
  return product(left, normals(rank * cols, generator), rows, rank, cols);
}

Values zero_column(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Values values = random_factor(rows, cols, seed);
  for (std::int64_t i = 0; i < rows; ++i) values[as_size(i * cols + cols / 2)] = 0;
  return values;
}

/// The last column is twice the first: exact in every type.
Values parallel_columns(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Values values = random_factor(rows, cols, seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    double& first = values[as_size(i * cols)];
    first = static_cast<float>(first);
    values[as_size((i + 1) * cols - 1)] = 2 * first;
  }
  return values;
}

Values one_nonzero_row(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Values values = random_factor(rows, cols, seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    if (i != rows / 2) std::fill_n(values.begin() + i * cols, cols, 0.0);
  }
  return values;
}

constexpr std::array table{
    OrthoInput{"random", "normal numbers", 1, true, random_factor},
    OrthoInput{"condition-1e2", "condition number 1e2, singular values in equal ratios", 2, true, with_power_of_ten<2>},
    OrthoInput{"condition-1e5", "condition number 1e5", 2, true, with_power_of_ten<5>},
    OrthoInput{"condition-1e7", "condition number 1e7", 2, true, with_power_of_ten<7>},
    OrthoInput{"rank-deficient", "of half the rank", 2, false, rank_deficient},
    OrthoInput{"zero-column", "random with a column of zeros", 1, false, zero_column},
    OrthoInput{"parallel-columns", "random, the last column twice the first", 2, false, parallel_columns},
    OrthoInput{"one-nonzero-row", "zeros but for one row, as an embedding's gradient", 2, false, one_nonzero_row},
};

}  // namespace

std::span<const OrthoInput> ortho_inputs() { return table; }

const OrthoInput& ortho_input(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OrthoInput& candidate : table) {
    if (candidate.name == name) return candidate;
    names.push_back(candidate.name);
  }
  throw Error::usage("unknown input \"{}\" (known: {}; with a dump {} and {})", name, fmt::join(names, ", "), replay_p,
                     replay_q);
}

FactorBatch make_batch(const OrthoInput& input, const FactorShape& shape, DType dtype, std::uint32_t seed) {
  FactorBatch batch{shape, std::string(input.name), {}};
  batch.values.reserve(as_size(shape.batch * shape.rows * shape.cols));
  for (std::int64_t i = 0; i < shape.batch; ++i) {
    const Values one = input.make(shape.rows, shape.cols, seed + static_cast<std::uint64_t>(i));
    batch.values.insert(batch.values.end(), one.begin(), one.end());
  }
  if (dtype == DType::float32) {
    for (double& value : batch.values) value = static_cast<float>(value);
  }
  return batch;
}

}  // namespace psgd::replay
