// project, back_project and residual against their formulas.

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/backend/cases.hpp"
#include "tests/backend/reference.hpp"

namespace psgd::backend::test {
namespace {

using MatrixPassesTest = AtLevel;
PSGD_AT_EVERY_LEVEL(MatrixPassesTest);

/// The memory of one task.
template <class T>
struct Problem {
  Problem(const Extents& size, Random& random)
      : extents(size),
        gradient(random.uniform<T>(size.rows * size.cols)),
        target(random.uniform<T>(size.rows * size.cols)),
        reference(random.uniform<T>(size.rows * size.cols)),
        output(gradient.size(), T{7}),
        p(random.uniform<T>(size.rows * size.rank)),
        q(random.uniform<T>(size.cols * size.rank)) {}

  /// With error feedback or without.
  MatrixTask<T> task(bool feedback) {
    MatrixTask<T> task;
    task.rows = extents.rows;
    task.cols = extents.cols;
    task.rank = extents.rank;
    task.gradient = gradient.data();
    task.target = feedback ? target.data() : nullptr;
    task.p = p.data();
    task.q = q.data();
    task.member_sums = &member_sums;
    task.tensor_sums = &tensor_sums;
    return task;
  }

  Extents extents;
  std::vector<T> gradient;
  std::vector<T> target;
  std::vector<T> reference;
  std::vector<T> output;
  std::vector<T> p;
  std::vector<T> q;
  MemberSums member_sums;
  TensorSums tensor_sums;
};

/// `terms` roundings at most are between an exact sum of products and what is found.
template <class T>
void expect_near(const std::vector<T>& found, const std::vector<Value>& expected, double scale, std::int64_t terms) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double bound =
        static_cast<double>(terms + 3) * roundoff<T> * std::abs(scale) * static_cast<double>(expected[i].size);
    ASSERT_NEAR(static_cast<double>(found[i]), scale * static_cast<double>(expected[i].value), bound) << "at " << i;
  }
}

void expect_sum(double found, const Value& expected) {
  EXPECT_NEAR(found, static_cast<double>(expected.value), sum_tolerance * static_cast<double>(expected.size));
}

template <class T>
std::vector<T> plus(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> sum(a);
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] += b[i];
  return sum;
}

template <class T>
std::vector<T> minus(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> difference(a);
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= b[i];
  return difference;
}

template <class T>
void check_project(Backend<T>& backend, Random& random) {
  for (const Extents& extents : cases()) {
    for (const bool feedback : {false, true}) {
      SCOPED_TRACE(testing::Message() << extents << (feedback ? ", with" : ", without") << " error feedback");
      Problem<T> problem(extents, random);
      const std::vector<T> matrix = feedback ? plus(problem.target, problem.gradient) : problem.gradient;
      const std::vector<T> target = feedback ? matrix : problem.target;
      const std::vector<T> gradient = problem.gradient;
      const MatrixTask<T> task = problem.task(feedback);
      const double scale = 0.37;
      backend.project({&task, 1}, scale);
      backend.synchronize();
      EXPECT_EQ(problem.target, target);
      EXPECT_EQ(problem.gradient, gradient);
      expect_near(problem.p, product(matrix, problem.q, extents.rows, extents.cols, extents.rank), scale, extents.cols);
      expect_sum(problem.member_sums.target_sq, sum_of_squares(matrix));
    }
  }
}

TEST_P(MatrixPassesTest, ProjectFormsTheTargetAndItsProduct) {
  check_project(*backend<float>(), random_);
  check_project(*backend<double>(), random_);
}

template <class T>
void check_back_project(Backend<T>& backend, Random& random) {
  for (const Extents& extents : cases()) {
    for (const bool feedback : {false, true}) {
      SCOPED_TRACE(testing::Message() << extents << (feedback ? ", with" : ", without") << " error feedback");
      Problem<T> problem(extents, random);
      const MatrixTask<T> task = problem.task(feedback);
      const double scale = 1.25;
      backend.back_project({&task, 1}, scale);
      backend.synchronize();
      const std::vector<T>& matrix = feedback ? problem.target : problem.gradient;
      expect_near(
          problem.q,
          product(transposed(matrix, extents.rows, extents.cols), problem.p, extents.cols, extents.rows, extents.rank),
          scale, extents.rows);
    }
  }
}

TEST_P(MatrixPassesTest, BackProjectMultipliesByTheTranspose) {
  check_back_project(*backend<float>(), random_);
  check_back_project(*backend<double>(), random_);
}

template <class T>
void check_residual(Backend<T>& backend, Random& random, bool feedback, bool with_output, bool with_reference) {
  for (const Extents& extents : cases()) {
    SCOPED_TRACE(testing::Message() << extents << ", feedback " << feedback << ", output " << with_output
                                    << ", reference " << with_reference);
    Problem<T> problem(extents, random);
    const std::vector<T> matrix = feedback ? problem.target : problem.gradient;
    const std::vector<T> untouched = problem.output;
    MatrixTask<T> task = problem.task(feedback);
    task.output = with_output ? problem.output.data() : nullptr;
    task.reference = with_reference ? problem.reference.data() : nullptr;
    backend.residual({&task, 1});
    backend.synchronize();
    const std::vector<T> qt = transposed(problem.q, extents.cols, extents.rank);
    const std::vector<Value> exact = product(problem.p, qt, extents.rows, extents.rank, extents.cols);
    // The product as it was rounded; without the output, the nearest that can be known of it.
    std::vector<T> rounded(exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) rounded[i] = static_cast<T>(exact[i].value);
    if (with_output) {
      expect_near(problem.output, exact, 1, extents.rank);
      rounded = problem.output;
    } else {
      EXPECT_EQ(problem.output, untouched);
    }
    const double slack = with_output ? 1 : 1 + roundoff<T> / sum_tolerance * static_cast<double>(4 * extents.rank + 8);
    const auto expect_sum_near = [&](double found, const Value& expected, Real size) {
      EXPECT_NEAR(found, static_cast<double>(expected.value), slack * sum_tolerance * static_cast<double>(size));
    };
    const std::vector<T> rest = minus(matrix, rounded);
    if (with_output && feedback) {
      EXPECT_EQ(problem.target, rest);
    }
    Real product_size = 0;
    for (const Value& value : exact) product_size += value.size * value.size;
    const Real sizes = 4 * (sum_of_squares(matrix).value + product_size);
    expect_sum_near(problem.member_sums.residual_sq, sum_of_squares(rest),
                    with_output ? sum_of_squares(rest).size : sizes);
    if (!with_reference) {
      EXPECT_EQ(problem.tensor_sums.gradient_sq, 0);
      continue;
    }
    const Real both = 4 * (product_size + sum_of_squares(problem.reference).value);
    Value difference;
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      const Real distance = static_cast<Real>(rounded[i]) - static_cast<Real>(problem.reference[i]);
      difference.add(distance * distance);
    }
    expect_sum(problem.tensor_sums.gradient_sq, sum_of_squares(problem.reference));
    expect_sum_near(problem.tensor_sums.averaged_sq, sum_of_squares(rounded),
                    with_output ? sum_of_squares(rounded).size : both);
    expect_sum_near(problem.tensor_sums.difference_sq, difference, with_output ? difference.size : both);
    expect_sum_near(problem.tensor_sums.dot, dot(rounded, problem.reference),
                    with_output ? dot(rounded, problem.reference).size : both);
  }
}

TEST_P(MatrixPassesTest, ResidualSubtractsAndMeasures) {
  check_residual(*backend<float>(), random_, true, false, true);
  check_residual(*backend<double>(), random_, true, false, true);
  check_residual(*backend<float>(), random_, true, true, true);
  check_residual(*backend<double>(), random_, true, true, true);
  check_residual(*backend<float>(), random_, true, true, false);
  check_residual(*backend<double>(), random_, true, true, false);
  check_residual(*backend<float>(), random_, false, true, false);
  check_residual(*backend<float>(), random_, false, false, true);
}

TEST_P(MatrixPassesTest, TasksOfOneCallDoNotTouchEachOther) {
  const auto backend = this->backend<float>();
  std::vector<Problem<float>> together;
  std::vector<Problem<float>> alone;
  for (const Extents& extents : cases()) together.emplace_back(extents, random_);
  alone = together;
  std::vector<MatrixTask<float>> tasks;
  for (Problem<float>& problem : together) {
    tasks.push_back(problem.task(true));
    tasks.back().output = problem.output.data();
    tasks.back().reference = problem.reference.data();
  }
  backend->project(tasks, 1);
  backend->back_project(tasks, 1);
  backend->residual(tasks);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    SCOPED_TRACE(testing::Message() << alone[i].extents);
    MatrixTask<float> task = alone[i].task(true);
    task.output = alone[i].output.data();
    task.reference = alone[i].reference.data();
    backend->project({&task, 1}, 1);
    backend->back_project({&task, 1}, 1);
    backend->residual({&task, 1});
    EXPECT_EQ(together[i].p, alone[i].p);
    EXPECT_EQ(together[i].q, alone[i].q);
    EXPECT_EQ(together[i].target, alone[i].target);
    EXPECT_EQ(together[i].output, alone[i].output);
    EXPECT_EQ(together[i].member_sums.target_sq, alone[i].member_sums.target_sq);
    EXPECT_EQ(together[i].member_sums.residual_sq, alone[i].member_sums.residual_sq);
    EXPECT_EQ(together[i].tensor_sums.dot, alone[i].tensor_sums.dot);
  }
}

TEST_P(MatrixPassesTest, SumsDoNotOverflowOrVanishInFloat) {
  const auto backend = this->backend<float>();
  for (const float size : {1e38F, 1e-38F, 1e-44F}) {
    SCOPED_TRACE(size);
    Problem<float> problem({37, 41, 1}, random_);
    std::fill(problem.gradient.begin(), problem.gradient.end(), size);
    std::fill(problem.reference.begin(), problem.reference.end(), size);
    std::fill(problem.target.begin(), problem.target.end(), 0.0F);
    std::fill(problem.q.begin(), problem.q.end(), 0.0F);
    MatrixTask<float> task = problem.task(true);
    task.reference = problem.reference.data();
    backend->project({&task, 1}, 1);
    backend->residual({&task, 1});
    const double expected = 37.0 * 41.0 * static_cast<double>(size) * static_cast<double>(size);
    EXPECT_NEAR(problem.member_sums.target_sq, expected, 1e-12 * expected);
    EXPECT_NEAR(problem.member_sums.residual_sq, expected, 1e-12 * expected);
    EXPECT_NEAR(problem.tensor_sums.gradient_sq, expected, 1e-12 * expected);
    EXPECT_NEAR(problem.tensor_sums.difference_sq, expected, 1e-12 * expected);
    EXPECT_EQ(problem.tensor_sums.averaged_sq, 0);
  }
}

TEST_P(MatrixPassesTest, NaNAndInfinityComeThrough) {
  const auto backend = this->backend<float>();
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const Extents& extents : {Extents{1, 1, 1}, Extents{5, 9, 2}, Extents{50, 70, 5}}) {
      SCOPED_TRACE(testing::Message() << extents << ", " << poison);
      Problem<float> problem(extents, random_);
      problem.gradient.back() = poison;
      MatrixTask<float> task = problem.task(true);
      task.reference = problem.gradient.data();
      backend->project({&task, 1}, 1);
      EXPECT_FALSE(std::isfinite(problem.member_sums.target_sq));
      EXPECT_FALSE(std::isfinite(problem.p.back()));
      EXPECT_TRUE(std::isfinite(problem.p.front()) || extents.rows == 1);
      backend->back_project({&task, 1}, 1);
      EXPECT_FALSE(std::isfinite(problem.q.back()));
      backend->residual({&task, 1});
      EXPECT_FALSE(std::isfinite(problem.target.back()));
      EXPECT_FALSE(std::isfinite(problem.member_sums.residual_sq));
      EXPECT_FALSE(std::isfinite(problem.tensor_sums.gradient_sq));
      EXPECT_FALSE(std::isfinite(problem.tensor_sums.averaged_sq));
      EXPECT_FALSE(std::isfinite(problem.tensor_sums.difference_sq));
      EXPECT_FALSE(std::isfinite(problem.tensor_sums.dot));
    }
  }
}

TEST_P(MatrixPassesTest, NoTasksIsNoWork) {
  backend<float>()->project({}, 1);
  backend<float>()->back_project({}, 1);
  backend<float>()->residual({});
}

}  // namespace
}  // namespace psgd::backend::test
