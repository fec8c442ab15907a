#include "libpsgd/replay/ortho_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libpsgd/metrics/orthogonality.hpp"
#include "libpsgd/metrics/spectrum_exact.hpp"

namespace psgd::replay {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// AᵀB, both rows × cols.
std::vector<double> transposed_product(const double* a, const double* b, std::int64_t rows, std::int64_t cols) {
  std::vector<double> result(as_size(cols * cols));
  for (std::int64_t k = 0; k < rows; ++k) {
    for (std::int64_t i = 0; i < cols; ++i) {
      const double factor = a[k * cols + i];
      double* const to = result.data() + i * cols;
      for (std::int64_t j = 0; j < cols; ++j) to[j] += factor * b[k * cols + j];
    }
  }
  return result;
}

/// A − Q·(QᵀA)
std::vector<double> rest_of(const double* a, const double* q, std::int64_t rows, std::int64_t cols) {
  const std::vector<double> product = transposed_product(q, a, rows, cols);
  std::vector<double> rest(a, a + rows * cols);
  for (std::int64_t k = 0; k < rows; ++k) {
    double* const to = rest.data() + k * cols;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double factor = q[k * cols + i];
      const double* const from = product.data() + i * cols;
      for (std::int64_t j = 0; j < cols; ++j) to[j] -= factor * from[j];
    }
  }
  return rest;
}

double norm(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

std::vector<backend::Factor<double>> factors_of(std::span<double> values, const FactorShape& shape) {
  std::vector<backend::Factor<double>> factors;
  for (std::size_t at = 0; at < values.size(); at += as_size(shape.rows * shape.cols)) {
    factors.push_back({values.data() + at, shape.rows, shape.cols});
  }
  return factors;
}

}  // namespace

OrthoJudge::OrthoJudge(const FactorBatch& batch, bool full_rank, backend::Backend<double>& backend)
    : batch_(batch), backend_(backend), reference_(batch.values), defined_(as_size(batch.shape.batch), full_rank) {
  if (!full_rank) return;
  const std::vector<backend::Factor<double>> factors = factors_of(reference_, batch.shape);
  const std::size_t size = as_size(batch.shape.cols * batch.shape.cols);
  std::vector<double> grams(factors.size() * size);
  backend_.gram(factors, grams.data());
  backend_.cholesky(factors, grams.data(), 0);
  backend_.householder(factors);
  backend_.synchronize();
  for (std::size_t i = 0; i < factors.size(); ++i) defined_[i] = !std::isnan(grams[i * size]);
}

/// The sine is the norm of what projecting on the reference leaves of an orthonormal basis of Q's span.
double OrthoJudge::sine(const double* q, const double* reference) const {
  const auto [rows, cols, count] = batch_.shape;
  std::vector<double> basis(q, q + rows * cols);
  backend_.householder(factors_of(basis, batch_.shape));
  backend_.synchronize();
  const std::vector<double> rest = rest_of(basis.data(), reference, rows, cols);
  const std::vector<double> gram = transposed_product(rest.data(), rest.data(), rows, cols);
  metrics::Columns columns(as_size(cols), as_size(cols));
  for (std::size_t i = 0; i < as_size(cols); ++i) {
    for (std::size_t j = 0; j < as_size(cols); ++j) columns.column(i)[j] = gram[i * as_size(cols) + j];
  }
  return std::min(1.0, std::sqrt(metrics::decompose(columns, false).values.front()));
}

OrthoQuality OrthoJudge::judge_one(const double* a, const double* q, const double* reference) const {
  const auto [rows, cols, count] = batch_.shape;
  if (!std::all_of(q, q + rows * cols, [](double value) { return std::isfinite(value); })) return {nan, nan, nan};
  OrthoQuality quality;
  quality.orthogonality = metrics::orthogonality(transposed_product(q, q, rows, cols).data(), cols);
  const double size = norm({a, as_size(rows * cols)});
  quality.residual = size > 0 ? norm(rest_of(a, q, rows, cols)) / size : nan;
  quality.subspace_sine = reference != nullptr ? sine(q, reference) : nan;
  return quality;
}

OrthoQuality OrthoJudge::judge(std::span<const double> q) const {
  const std::size_t size = as_size(batch_.shape.rows * batch_.shape.cols);
  // A NaN stays: it is the worst that there is.
  const auto worse = [](double a, double b) { return std::isnan(a) || a >= b ? a : b; };
  OrthoQuality worst;
  for (std::size_t at = 0; at < q.size(); at += size) {
    const OrthoQuality one =
        judge_one(batch_.values.data() + at, q.data() + at, defined_[at / size] ? reference_.data() + at : nullptr);
    worst.orthogonality = worse(worst.orthogonality, one.orthogonality);
    worst.residual = worse(worst.residual, one.residual);
    worst.subspace_sine = worse(worst.subspace_sine, one.subspace_sine);
  }
  return worst;
}

}  // namespace psgd::replay
