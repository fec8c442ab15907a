// What every method has to give: orthonormal columns that span the same space, within its bound.

#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "tests/orthogonalize/run.hpp"

namespace psgd::orthogonalize::test {
namespace {

/// One test for every method, at the best SIMD level (tests/backend runs the passes at all of them).
class MethodsTest : public testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] std::string_view name() const { return GetParam(); }

  template <class T>
  std::unique_ptr<backend::Backend<T>> backend() {
    return backend::cpu<T>(pool_);
  }

  /// The roundoff of the method's arithmetic on T.
  template <class T>
  [[nodiscard]] double unit() const {
    if (name() == "half-gram-schmidt") return 0x1p-11;
    return name() == "bfloat16-gram-schmidt" ? 0x1p-8 : roundoff<T>;
  }

  /// What ‖QᵀQ − I‖ may be at a condition number, as the methods' headers say, up to a small constant.
  template <class T>
  [[nodiscard]] double bound(double condition) const {
    if (name() == "gram-schmidt" || is_half(name())) return unit<T>() * condition;
    if (name() == "cholesky-qr") return unit<T>() + 0x1p-53 * condition * condition;
    return unit<T>();
  }

  template <class T>
  void check_condition(double condition);

  Random random_;

 private:
  ThreadPool pool_{2};
};

std::string test_name(const testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Every, MethodsTest, testing::ValuesIn(method_names()), test_name);

const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
    {1, 1}, {13, 1}, {3000, 1}, {2, 2}, {101, 2}, {37, 3}, {64, 4}, {997, 7}, {2099, 4}, {61, 17}, {80, 33}, {5001, 8}};

template <class T>
void MethodsTest::check_condition(double condition) {
  const auto of = backend<T>();
  for (const auto& [rows, cols] : shapes) {
    if (condition > 1 && (cols == 1 || rows * cols > 10000)) continue;
    const Matrix a = backend::test::with_condition(rows, cols, condition, random_);
    const std::vector<T> values = a.as<T>();
    const Matrix q(rows, cols, run(*of, name(), values, rows, cols));
    const double size = 30 * static_cast<double>(cols);
    if (bound<T>(condition) < 0.01) {
      EXPECT_LE(orthogonality_of(q), size * bound<T>(condition)) << rows << " x " << cols << ", " << condition;
    }
    if (is_half(name()) && condition > 1) continue;  // its columns are too far from orthonormal to project on
    if (bound<T>(condition) >= 0.01) continue;
    EXPECT_LE(span_residual(Matrix(rows, cols, values), q), size * std::max(unit<T>(), bound<T>(condition)))
        << rows << " x " << cols << ", " << condition;
  }
}

TEST_P(MethodsTest, WellConditionedFactors) {
  check_condition<float>(1);
  check_condition<double>(1);
}

TEST_P(MethodsTest, IllConditionedFactors) {
  for (const double condition : {1e2, 1e5, 1e7}) {
    check_condition<float>(condition);
    check_condition<double>(condition);
  }
}

/// Q of the QR factorization is unique up to signs, and with a positive diagonal unique.
TEST_P(MethodsTest, FactorIsThatOfTheReference) {
  if (is_half(name())) GTEST_SKIP() << "rounded to half precision";
  const Matrix a = backend::test::random_matrix(300, 6, random_);
  const Matrix expected = backend::test::orthonormal(a);
  const Matrix q(300, 6, run(*backend<double>(), name(), a.as<double>(), 300, 6));
  const bool positive = name() != "householder" && name() != "tsqr";
  for (std::int64_t j = 0; j < 6; ++j) {
    long double dot = 0;
    for (std::int64_t k = 0; k < 300; ++k) dot += q.at(k, j) * expected.at(k, j);
    EXPECT_NEAR(static_cast<double>(positive ? dot : std::abs(dot)), 1, 1e-13) << "column " << j;
  }
}

TEST_P(MethodsTest, ABatchGivesWhatItsFactorsGiveAlone) {
  const auto of = backend<float>();
  std::vector<std::vector<float>> memory;
  std::vector<std::vector<float>> alone;
  std::vector<backend::Factor<float>> factors;
  for (const auto& [rows, cols] : shapes) {
    memory.push_back(random_.uniform<float>(rows * cols));
    alone.push_back(run(*of, name(), memory.back(), rows, cols));
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    factors.push_back({memory[i].data(), shapes[i].first, shapes[i].second});
  }
  orthogonalize<float>(*of, factors, {&method(name()), 0, false});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(memory[i], alone[i]) << shapes[i].first << " x " << shapes[i].second;
  }
}

TEST_P(MethodsTest, EveryNumberOfThreadsGivesTheSameBits) {
  const std::vector<double> values = random_.uniform<double>(12000 * 5);
  std::vector<double> expected;
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ThreadPool pool(threads);
    const std::vector<double> found = run(*backend::cpu<double>(pool), name(), values, 12000, 5);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << threads;
  }
}

TEST_P(MethodsTest, FewerRowsThanColumns) {
  const std::vector<float> values(6, 1.0F);
  if (name() == "gram-schmidt" || is_half(name())) {  // as PyTorch, which runs them
    EXPECT_EQ(run(*backend<float>(), name(), values, 2, 3).size(), 6U);
    return;
  }
  try {
    run(*backend<float>(), name(), values, 2, 3);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("2 x 3"), std::string::npos) << error.what();
  }
}

TEST(Methods, AnUnknownOneIsAUsageErrorThatNamesTheKnown) {
  try {
    method("no-such");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    for (const std::string_view known : method_names()) {
      EXPECT_NE(std::string_view(error.what()).find(known), std::string_view::npos) << known;
    }
  }
}

}  // namespace
}  // namespace psgd::orthogonalize::test
