// The passes over tall factors against their formulas, at every SIMD level.

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/backend/factors.hpp"

namespace psgd::backend::test {
namespace {

using FactorPassesTest = AtLevel;
PSGD_AT_EVERY_LEVEL(FactorPassesTest);

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// One row, one column, square, primes, either side of a panel and of several chunks.
const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{1, 1},    {7, 1},   {40000, 1}, {2, 2},
                                                                {17, 3},   {64, 4},  {31, 5},    {1031, 8},
                                                                {9001, 7}, {33, 33}, {600, 64},  {2100, 16}};

/// Several factors, one after the other.
template <class T>
struct Batch {
  std::vector<std::vector<T>> memory;
  std::vector<Factor<T>> factors;
  std::vector<double> grams;

  explicit Batch(Random& random) {
    std::size_t size = 0;
    for (const auto& [rows, cols] : shapes) {
      memory.push_back(random.uniform<T>(rows * cols));
      size += static_cast<std::size_t>(cols * cols);
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      factors.push_back({memory[i].data(), shapes[i].first, shapes[i].second});
    }
    grams.assign(size, -7.0);
  }
  [[nodiscard]] Matrix matrix(std::size_t i) const { return {shapes[i].first, shapes[i].second, memory[i]}; }
};

/// The small matrix of one factor, `at` being moved on to the next.
Matrix next(const std::vector<double>& small, std::int64_t cols, std::size_t& at) {
  const auto begin = small.begin() + static_cast<std::ptrdiff_t>(at);
  at += static_cast<std::size_t>(cols * cols);
  return {cols, cols, std::vector<double>(begin, begin + cols * cols)};
}

double distance(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] -= b.values[i];
  return static_cast<double>(norm(a));
}

template <class T>
void check_gram(Backend<T>& backend, Random& random) {
  Batch<T> batch(random);
  backend.gram(batch.factors, batch.grams.data());
  std::size_t at = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Matrix a = batch.matrix(i);
    const Matrix expected = transposed_product(a, a);
    EXPECT_LE(distance(next(batch.grams, a.cols, at), expected), 1e-13 * static_cast<double>(norm(expected)))
        << a.rows << " x " << a.cols;
  }
}

TEST_P(FactorPassesTest, GramMatrixIsSummedInFloat64) {
  check_gram(*backend<float>(), random_);
  check_gram(*backend<double>(), random_);
}

template <class T>
void check_solve(Backend<T>& backend, Random& random) {
  Batch<T> batch(random);
  backend.gram(batch.factors, batch.grams.data());
  std::vector<double> uppers = batch.grams;
  std::vector<double> after(uppers.size());
  std::vector<Matrix> before;
  for (std::size_t i = 0; i < shapes.size(); ++i) before.push_back(batch.matrix(i));
  for (int time = 0; time < 2; ++time) {  // the second time R is near I
    backend.cholesky(batch.factors, uppers.data(), 0);
    backend.solve_right(batch.factors, uppers.data(), after.data());
    std::size_t upper_at = 0;
    std::size_t after_at = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Matrix upper = next(uppers, shapes[i].second, upper_at);
      const Matrix found = batch.matrix(i);
      const Matrix gram = next(after, shapes[i].second, after_at);
      const auto size = static_cast<double>(norm(found) * norm(upper));
      EXPECT_LE(distance(product(found, upper), before[i]), 4 * roundoff<T> * size)
          << found.rows << " x " << found.cols;
      const Matrix expected = transposed_product(found, found);
      EXPECT_LE(distance(gram, expected), 1e-13 * static_cast<double>(norm(expected)));
      before[i] = found;
    }
    uppers = after;
  }
}

TEST_P(FactorPassesTest, SolvingGivesBackWhenMultiplied) {
  check_solve(*backend<float>(), random_);
  check_solve(*backend<double>(), random_);
}

TEST_P(FactorPassesTest, SolvingAnIllConditionedFactorIsBackwardStable) {
  const auto check = [&](auto& of, auto type) {
    using T = decltype(type);
    const Matrix a = with_condition(300, 8, 1e6, random_);
    std::vector<T> values = a.as<T>();
    const Matrix before(300, 8, values);
    const std::vector<Factor<T>> factors{{values.data(), 300, 8}};
    std::vector<double> upper(64);
    of.gram(factors, upper.data());
    of.cholesky(factors, upper.data(), 0);
    of.solve_right(factors, upper.data(), nullptr);
    const Matrix r(8, 8, upper);
    EXPECT_LE(distance(product(Matrix(300, 8, values), r), before), 20 * roundoff<T> * static_cast<double>(norm(a)));
  };
  check(*backend<float>(), float{});
  check(*backend<double>(), double{});
}

TEST_P(FactorPassesTest, AFactorWithoutCholeskyFactorStaysAsItIs) {
  std::vector<float> good{3, 0, 0, 4, 0, 0};
  std::vector<float> dependent{1, 2, 2, 4, 3, 6};
  std::vector<float> zero(6, 0.0F);
  const std::vector<float> dependent_before = dependent;
  const std::vector<Factor<float>> factors{{good.data(), 3, 2}, {dependent.data(), 3, 2}, {zero.data(), 3, 2}};
  std::vector<double> uppers(12);
  std::vector<double> after(12);
  const auto of = backend<float>();
  of->gram(factors, uppers.data());
  of->cholesky(factors, uppers.data(), 0);
  of->solve_right(factors, uppers.data(), after.data());
  EXPECT_EQ(good, (std::vector<float>{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(dependent, dependent_before);
  for (std::size_t i = 4; i < 12; ++i) {
    EXPECT_TRUE(std::isnan(uppers[i]));
    EXPECT_TRUE(std::isnan(after[i]));
  }
  of->householder_where_unsolved(factors, after.data());
  EXPECT_EQ(good, (std::vector<float>{1, 0, 0, 1, 0, 0}));
  EXPECT_LT(orthogonality_of(Matrix(3, 2, dependent)), 1e-6);
  EXPECT_LT(orthogonality_of(Matrix(3, 2, zero)), 1e-6);
}

TEST_P(FactorPassesTest, AShiftIsAddedToTheDiagonal) {
  std::vector<double> values{1, 0, 0, 2};
  const std::vector<Factor<double>> factors{{values.data(), 2, 2}};
  std::vector<double> upper(4);
  const auto of = backend<double>();
  of->gram(factors, upper.data());
  of->cholesky(factors, upper.data(), 1e10);
  const double shift = 1e10 * (4 + 6) * 0x1p-53 * 5;
  EXPECT_NEAR(upper[0], std::sqrt(1 + shift), 1e-15);
  EXPECT_NEAR(upper[3], std::sqrt(4 + shift), 1e-15);
  std::vector<double> none{nan, 0, 0, 1};
  of->cholesky(factors, none.data(), 0);
  EXPECT_TRUE(std::isnan(none[3]));
}

/// As the formula in backend.hpp says, each operation rounded to T.
template <class T>
std::vector<T> plain_gram_schmidt(std::vector<T> a, std::int64_t rows, std::int64_t cols, double epsilon) {
  const auto at = [&](std::int64_t k, std::int64_t i) -> T& { return a[static_cast<std::size_t>(k * cols + i)]; };
  for (std::int64_t i = 0; i < cols; ++i) {
    long double square = 0;
    for (std::int64_t k = 0; k < rows; ++k) square += static_cast<long double>(at(k, i)) * at(k, i);
    const T length = static_cast<T>(std::sqrt(static_cast<double>(square))) + static_cast<T>(epsilon);
    for (std::int64_t k = 0; k < rows; ++k) at(k, i) /= length;
    for (std::int64_t j = i + 1; j < cols; ++j) {
      long double dot = 0;
      for (std::int64_t k = 0; k < rows; ++k) dot += static_cast<long double>(at(k, i)) * at(k, j);
      for (std::int64_t k = 0; k < rows; ++k) at(k, j) -= static_cast<T>(dot) * at(k, i);
    }
  }
  return a;
}

template <class T>
void check_gram_schmidt(Backend<T>& backend, Random& random) {
  for (const double epsilon : {0.0, 0.125}) {
    Batch<T> batch(random);
    const std::vector<std::vector<T>> before = batch.memory;
    backend.gram_schmidt(batch.factors, epsilon, Rounding::none);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto [rows, cols] = shapes[i];
      if (rows == cols && rows > 2) continue;  // badly conditioned: roundings show
      const std::vector<T> expected = plain_gram_schmidt(before[i], rows, cols, epsilon);
      EXPECT_LE(distance(batch.matrix(i), Matrix(rows, cols, expected)), 200 * roundoff<T>) << rows << " x " << cols;
    }
  }
}

TEST_P(FactorPassesTest, GramSchmidtIsPyTorchs) {
  check_gram_schmidt(*backend<float>(), random_);
  check_gram_schmidt(*backend<double>(), random_);
}

TEST_P(FactorPassesTest, NothingIsDoneToFactorsWithoutElements) {
  const auto of = backend<float>();
  std::vector<float> one{3, 4};
  const std::vector<Factor<float>> factors{{nullptr, 0, 3}, {nullptr, 5, 0}, {one.data(), 2, 1}};
  std::vector<double> grams(10, 1.0);
  of->gram(factors, grams.data());
  EXPECT_EQ(std::vector<double>(grams.begin(), grams.begin() + 9), std::vector<double>(9, 0.0));
  EXPECT_EQ(grams[9], 25);
  of->gram_schmidt(factors, 0, Rounding::none);
  of->classical_gram_schmidt_twice(factors, 0);
  of->householder_tree(factors);
  EXPECT_NEAR(std::abs(one[0]), 0.6, 1e-6);
}

}  // namespace
}  // namespace psgd::backend::test
