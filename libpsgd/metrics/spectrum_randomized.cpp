#include "libpsgd/metrics/spectrum_randomized.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <cblas.h>

#include "libpsgd/base/torch_generator.hpp"
#include "libpsgd/metrics/spectrum_exact.hpp"

namespace psgd::metrics {
namespace {

int as_int(std::size_t value) { return static_cast<int>(value); }

/// a ← scale·a + factor·op(b)·c, all by columns.
void multiply(CBLAS_TRANSPOSE transpose, double factor, const Columns& b, const Columns& c, double scale, Columns& a) {
  cblas_dgemm(CblasColMajor, transpose, CblasNoTrans, as_int(a.size), as_int(a.count), as_int(c.size), factor,
              b.data.data(), as_int(b.size), c.data.data(), as_int(c.size), scale, a.data.data(), as_int(a.size));
}

/// Products with a matrix that is converted a few rows at a time.
template <class T>
class Products {
 public:
  explicit Products(const ScaledMatrix<T>& matrix)
      : matrix_(matrix), rows_(static_cast<std::size_t>(matrix.rows)), cols_(static_cast<std::size_t>(matrix.cols)) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }

  /// M·x
  Columns times(const Columns& x) {
    Columns result(rows_, x.count);
    for_each_block([&](std::size_t first, std::size_t count) {
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, as_int(count), as_int(x.count), as_int(cols_), 1,
                  block_.data(), as_int(cols_), x.data.data(), as_int(cols_), 0, result.data.data() + first,
                  as_int(rows_));
    });
    return result;
  }

  /// Mᵀ·y
  Columns transposed_times(const Columns& y) {
    Columns result(cols_, y.count);
    for_each_block([&](std::size_t first, std::size_t count) {
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, as_int(cols_), as_int(y.count), as_int(count), 1,
                  block_.data(), as_int(cols_), y.data.data() + first, as_int(rows_), 1, result.data.data(),
                  as_int(cols_));
    });
    return result;
  }

  /// Σ M_ij² with an error of a few units in the last place, for it is going to be subtracted from: short sums, then
  /// Kahan's.
  double norm_sq() {
    constexpr std::size_t run = 64;
    double sum = 0;
    double lost = 0;
    for_each_block([&](std::size_t /*first*/, std::size_t count) {
      for (std::size_t begin = 0; begin < count * cols_; begin += run) {
        double part = 0;
        for (std::size_t i = begin; i < std::min(begin + run, count * cols_); ++i) part += block_[i] * block_[i];
        const double term = part - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
      }
    });
    return sum;
  }

 private:
  template <class Body>
  void for_each_block(const Body& body) {
    constexpr std::size_t elements = std::size_t{1} << 16;
    const std::size_t height = std::max<std::size_t>(1, elements / cols_);
    for (std::size_t first = 0; first < rows_; first += height) {
      const std::size_t count = std::min(height, rows_ - first);
      block_.resize(height * cols_);
      const T* const source = matrix_.data + first * cols_;
      for (std::size_t i = 0; i < count * cols_; ++i) block_[i] = matrix_.scale * static_cast<double>(source[i]);
      body(first, count);
    }
  }

  ScaledMatrix<T> matrix_;
  std::size_t rows_;
  std::size_t cols_;
  std::vector<double> block_;  // rows of the matrix
};

Columns gaussian(TorchGenerator& generator, std::size_t size, std::size_t count) {
  Columns result(size, count);
  generator.randn(std::span<double>(result.data));
  return result;
}

/// Divides each column by its norm and adds the norm's logarithm to `logarithms`; −∞ for a zero column.
void normalize(Columns& columns, std::vector<double>& logarithms) {
  for (std::size_t k = 0; k < columns.count; ++k) {
    double* const column = columns.column(k);
    double sum = 0;
    for (std::size_t i = 0; i < columns.size; ++i) sum += column[i] * column[i];
    logarithms[k] += std::log(sum) / 2;
    const double norm = std::sqrt(sum);
    for (std::size_t i = 0; norm > 0 && i < columns.size; ++i) column[i] /= norm;
  }
}

constexpr std::size_t probes = 8;
constexpr int probe_powers = 3;
constexpr double probe_factor = 10;

/// ‖R‖₂ for R = M − Q·Bᵀ, B = MᵀQ, at most: (α·√(2/π)·max ‖C·ω‖)^(1/7) with C = (RRᵀ)³R and eight Gaussian ω, except
/// with probability α⁻⁸, α = 10. At q powers it exceeds ‖R‖₂ by a factor of at most about (8·√s)^(1/(2q + 1)), s =
/// min(n, m).
template <class T>
double bound_rest(Products<T>& products, const Columns& q, const Columns& b, TorchGenerator& generator) {
  Columns x = gaussian(generator, products.cols(), probes);
  std::vector<double> logarithms(probes, 0.0);
  Columns inner(q.count, probes);
  for (int power = 0;; ++power) {
    multiply(CblasTrans, 1, b, x, 0, inner);
    Columns y = products.times(x);
    multiply(CblasNoTrans, -1, q, inner, 1, y);
    normalize(y, logarithms);
    if (power == probe_powers) break;
    multiply(CblasTrans, 1, q, y, 0, inner);
    x = products.transposed_times(y);
    multiply(CblasNoTrans, -1, b, inner, 1, x);
    normalize(x, logarithms);
  }
  const double largest = *std::max_element(logarithms.begin(), logarithms.end());
  const double factor = std::log(probe_factor * std::sqrt(2 / std::numbers::pi));
  return std::exp((factor + largest) / (2 * probe_powers + 1));
}

}  // namespace

template <class T>
RandomizedSpectrum find_range(const ScaledMatrix<T>& matrix, std::size_t sketch, const SpectrumOptions& options) {
  Products<T> products(matrix);
  TorchGenerator generator(options.seed);
  Columns q = products.times(gaussian(generator, products.cols(), sketch));
  orthonormalize(q);
  for (int i = 0; i < options.power_iterations; ++i) {
    Columns right = products.transposed_times(q);
    orthonormalize(right);
    q = products.times(right);
    orthonormalize(q);
  }
  Columns b = products.transposed_times(q);
  RandomizedSpectrum result;
  result.norm_sq = products.norm_sq();
  result.rest = bound_rest(products, q, b, generator);
  result.failure_probability = std::pow(probe_factor, -static_cast<double>(probes));
  const auto directions = static_cast<std::size_t>(std::min(options.directions, options.leading));
  Decomposition decomposition = decompose(b, directions > 0);
  result.values = std::move(decomposition.values);
  if (directions > 0) {
    result.directions = std::move(decomposition.vectors);
    result.directions.count = std::min(directions, result.directions.count);
    result.directions.data.resize(result.directions.size * result.directions.count);
  }
  return result;
}

template RandomizedSpectrum find_range(const ScaledMatrix<float>&, std::size_t, const SpectrumOptions&);
template RandomizedSpectrum find_range(const ScaledMatrix<double>&, std::size_t, const SpectrumOptions&);

}  // namespace psgd::metrics
