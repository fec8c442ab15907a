// Factors without full rank, and values that are no numbers.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/orthogonalize/run.hpp"

namespace psgd::orthogonalize::test {
namespace {

/// Methods whose columns are orthonormal whatever they get.
const std::vector<std::string_view> robust{"householder", "tsqr", "cholesky-qr", "cholesky-qr2",
                                           "shifted-cholesky-qr3"};

class DegenerateTest : public testing::Test {
 protected:
  template <class T>
  std::unique_ptr<backend::Backend<T>> backend() {
    return backend::cpu<T>(pool_);
  }

  /// Orthonormal columns whose span holds the factor.
  template <class T>
  void expect_complete(const std::vector<T>& values, std::int64_t rows, std::int64_t cols) {
    const auto of = backend<T>();
    const Matrix a(rows, cols, values);
    for (const std::string_view name : robust) {
      const Matrix q(rows, cols, run(*of, name, values, rows, cols));
      // LAPACK adds up in T, so that its error grows with the rows where all values are equal.
      const double bound = (30 * static_cast<double>(cols) + 0.3 * static_cast<double>(rows)) * roundoff<T>;
      EXPECT_LE(orthogonality_of(q), bound) << name << ", " << rows << " x " << cols;
      if (backend::test::norm(a) > 0) {
        EXPECT_LE(span_residual(a, q), bound) << name << ", " << rows << " x " << cols;
      }
    }
  }

  template <class T>
  void check_dependent();

  Random random_;

 private:
  ThreadPool pool_{2};
};

template <class T>
void DegenerateTest::check_dependent() {
  for (const std::int64_t rows : {7, 1000, 5003}) {
    constexpr std::int64_t cols = 5;
    const std::vector<T> full = random_.uniform<T>(rows * cols);
    const auto changed = [&](auto&& change) {
      std::vector<T> values = full;
      for (std::int64_t k = 0; k < rows; ++k) change(values.data() + k * cols, k);
      return values;
    };
    expect_complete(changed([](T* row, std::int64_t) { row[2] = 0; }), rows, cols);                // zero column
    expect_complete(changed([](T* row, std::int64_t) { row[3] = -2 * row[1]; }), rows, cols);      // parallel
    expect_complete(changed([](T* row, std::int64_t) { row[4] = row[0] + row[1]; }), rows, cols);  // dependent
    expect_complete(changed([](T* row, std::int64_t) { std::fill_n(row, cols, T{1}); }), rows, cols);
    expect_complete(changed([](T* row, std::int64_t) { std::fill_n(row, cols, T{0}); }), rows, cols);
    expect_complete(changed([](T* row, std::int64_t k) { std::fill_n(row, cols, k == 4 ? T{3} : T{0}); }), rows, cols);
  }
}

TEST_F(DegenerateTest, DependentColumnsLeaveOrthonormalOnes) {
  check_dependent<float>();
  check_dependent<double>();
}

TEST_F(DegenerateTest, ExtremeScalesLeaveOrthonormalColumns) {
  for (const float scale : {1e-40F, 1e-20F, 1e18F, 1e37F}) {
    std::vector<float> values = random_.uniform<float>(200 * 3);
    for (float& value : values) value *= scale;
    if (scale < 1e-38F) continue;  // LAPACK answers, with what is left of the digits
    expect_complete(values, 200, 3);
  }
  for (const double scale : {1e-200, 1e-160, 1e160, 1e300}) {
    std::vector<double> values = random_.uniform<double>(200 * 3);
    for (double& value : values) value *= scale;
    expect_complete(values, 200, 3);
  }
}

TEST_F(DegenerateTest, ColumnsOfVeryDifferentLengthAreNoTrouble) {
  std::vector<float> values = random_.uniform<float>(500 * 4);
  for (std::size_t k = 0; k < 500; ++k) values[k * 4 + 1] *= 1e-20F;
  const auto of = backend<float>();
  for (const std::string_view name : {"cgs2", "householder", "tsqr", "cholesky-qr", "cholesky-qr2"}) {
    EXPECT_LE(orthogonality_of(Matrix(500, 4, run(*of, name, values, 500, 4))), 1e-5) << name;
  }
}

TEST_F(DegenerateTest, WhatIsNotANumberComesOutAsNone) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
    for (const std::int64_t rows : {9, 7001}) {
      std::vector<float> values = random_.uniform<float>(rows * 4);
      values[static_cast<std::size_t>(rows * 2)] = bad;  // in the first column or the third
      for (const Method& one : methods()) {
        const std::vector<float> q = run(*backend<float>(), one.name, values, rows, 4);
        EXPECT_TRUE(std::any_of(q.begin(), q.end(), [](float value) { return std::isnan(value); })) << one.name;
        if (std::find(robust.begin(), robust.end(), one.name) == robust.end()) continue;
        EXPECT_TRUE(std::all_of(q.begin(), q.end(), [](float value) { return std::isnan(value); })) << one.name;
      }
    }
  }
}

TEST_F(DegenerateTest, OneBadFactorSpoilsNoOther) {
  std::vector<float> bad(40, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> zero(40, 0.0F);
  const std::vector<float> good = random_.uniform<float>(40);
  for (const Method& one : methods()) {
    const auto of = backend<float>();
    std::vector<float> found = good;
    const std::vector<backend::Factor<float>> factors{{bad.data(), 10, 4}, {found.data(), 10, 4}, {zero.data(), 10, 4}};
    orthogonalize<float>(*of, factors, {&one, 0, false});
    EXPECT_EQ(found, run(*of, one.name, good, 10, 4)) << one.name;
    std::fill(zero.begin(), zero.end(), 0.0F);
  }
}

TEST_F(DegenerateTest, GramSchmidtDividesZeroByZeroWithoutEpsilon) {
  const std::vector<float> values(12, 0.0F);
  for (const std::string_view name : {"gram-schmidt", "cgs2", "half-gram-schmidt", "bfloat16-gram-schmidt"}) {
    EXPECT_TRUE(std::isnan(run(*backend<float>(), name, values, 6, 2).back())) << name;
    EXPECT_EQ(run(*backend<float>(), name, values, 6, 2, 1e-3), values) << name;
  }
}

}  // namespace
}  // namespace psgd::orthogonalize::test
