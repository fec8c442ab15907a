// reduce_ranks, compare, norms and the element-wise operations against their formulas.

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/backend/cases.hpp"
#include "tests/backend/reference.hpp"

namespace psgd::backend::test {
namespace {

using ElementPassesTest = AtLevel;
PSGD_AT_EVERY_LEVEL(ElementPassesTest);

const std::vector<std::int64_t> counts{0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 1000, 65535, 65537, 200001};

void expect_sum(double found, const Value& expected) {
  EXPECT_NEAR(found, static_cast<double>(expected.value), sum_tolerance * static_cast<double>(expected.size));
}

template <class T>
std::vector<T> slice(const std::vector<T>& values, const Segment& segment) {
  return {values.begin() + segment.begin, values.begin() + segment.begin + segment.count};
}

/// The memory of a reduction over `ranks` process ranks with `errors` error memories.
template <class T>
struct Reduction {
  Reduction(std::size_t ranks, std::size_t errors, std::vector<Segment> parts, Random& random)
      : segments(std::move(parts)) {
    const std::int64_t count = segments.empty() ? 0 : segments.back().begin + segments.back().count + 3;
    for (std::size_t w = 0; w < ranks; ++w) {
      gradients.push_back(random.uniform<T>(count));
      deviations.push_back(random.uniform<T>(count, 2));
    }
    for (std::size_t k = 0; k < errors; ++k) error_memories.push_back(random.uniform<T>(count, 3));
    mean = random.uniform<T>(count);
    rank_sums.resize(segments.size() * ranks, {-1, -1});
    error_dots.resize(segments.size() * ranks * errors, -1);
  }

  void run(Backend<T>& backend, bool with_gradients, bool with_deviations) {
    std::vector<const T*> gradient_pointers;
    std::vector<T*> deviation_pointers;
    std::vector<const T*> error_pointers;
    for (const auto& gradient : gradients) gradient_pointers.push_back(gradient.data());
    for (auto& deviation : deviations) deviation_pointers.push_back(deviation.data());
    for (const auto& error : error_memories) error_pointers.push_back(error.data());
    RankReduction<T> reduction;
    if (with_gradients) reduction.gradients = gradient_pointers;
    if (with_deviations) {
      reduction.deviations = deviation_pointers;
      reduction.errors = error_pointers;
    }
    reduction.mean = with_gradients ? mean.data() : nullptr;
    reduction.segments = segments;
    reduction.rank_sums = rank_sums.data();
    reduction.error_dots = error_dots.data();
    backend.reduce_ranks(reduction);
    backend.synchronize();
  }

  std::vector<Segment> segments;
  std::vector<std::vector<T>> gradients;
  std::vector<std::vector<T>> deviations;
  std::vector<std::vector<T>> error_memories;
  std::vector<T> mean;
  std::vector<RankSums> rank_sums;
  std::vector<double> error_dots;
};

template <class T>
void check_reduction(Backend<T>& backend, Random& random, std::size_t ranks, std::size_t errors, bool gradients,
                     bool deviations) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, " << errors << " errors, gradients " << gradients
                                  << ", deviations " << deviations);
  const std::vector<Segment> segments{{1, 40}, {41, 1}, {50, 0}, {52, 333}, {400, 20011}};
  Reduction<T> found(ranks, errors, segments, random);
  Reduction<T> expected = found;
  found.run(backend, gradients, deviations);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (std::size_t w = 0; w < ranks; ++w) {
      const RankSums& sums = found.rank_sums[s * ranks + w];
      const Value zero;
      expect_sum(sums.gradient_sq, gradients ? sum_of_squares(slice(expected.gradients[w], segments[s])) : zero);
      expect_sum(sums.deviation_sq, deviations ? sum_of_squares(slice(expected.deviations[w], segments[s])) : zero);
      for (std::size_t k = 0; deviations && k < errors; ++k) {
        expect_sum(found.error_dots[(s * ranks + w) * errors + k],
                   dot(slice(expected.error_memories[k], segments[s]), slice(expected.deviations[w], segments[s])));
      }
    }
    for (std::int64_t i = segments[s].begin; gradients && i < segments[s].begin + segments[s].count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      T sum = expected.gradients[0][at];
      for (std::size_t w = 1; w < ranks; ++w) sum += expected.gradients[w][at];
      expected.mean[at] = sum / static_cast<T>(ranks);
      for (std::size_t w = 0; deviations && w < ranks; ++w) {
        expected.deviations[w][at] += expected.gradients[w][at] - expected.mean[at];
      }
    }
  }
  EXPECT_EQ(found.mean, expected.mean);
  EXPECT_EQ(found.deviations, expected.deviations);
  EXPECT_EQ(found.gradients, expected.gradients);
}

template <class T>
void check_reductions(Backend<T>& backend, Random& random) {
  for (const std::size_t ranks : {1U, 2U, 3U, 4U, 7U, 8U, 9U, 16U, 33U}) {
    check_reduction(backend, random, ranks, 0, true, false);
    for (const std::size_t errors : {0U, 1U, 2U, 5U}) {
      check_reduction(backend, random, ranks, errors, true, true);
      check_reduction(backend, random, ranks, errors, false, true);
    }
  }
}

TEST_P(ElementPassesTest, ReduceRanksAveragesAndMeasures) {
  check_reductions(*backend<float>(), random_);
  check_reductions(*backend<double>(), random_);
}

TEST_P(ElementPassesTest, ReduceRanksKeepsNormsOfLargeFloats) {
  Reduction<float> reduction(3, 1, {{0, 77}}, random_);
  for (auto& gradient : reduction.gradients) std::fill(gradient.begin(), gradient.end(), 1e38F);
  for (auto& deviation : reduction.deviations) std::fill(deviation.begin(), deviation.end(), -2e38F);
  std::fill(reduction.error_memories[0].begin(), reduction.error_memories[0].end(), 3e38F);
  reduction.run(*backend<float>(), true, true);
  const double large = 1e38F;
  EXPECT_NEAR(reduction.rank_sums[2].gradient_sq, 77 * large * large, 1e-12 * 77 * large * large);
  EXPECT_NEAR(reduction.rank_sums[2].deviation_sq, 4 * 77 * large * large, 1e-6 * 77 * large * large);
  EXPECT_NEAR(reduction.error_dots[2], -6 * 77 * large * large, 1e-6 * 77 * large * large);
}

TEST_P(ElementPassesTest, ReduceRanksLetsNaNThrough) {
  Reduction<float> reduction(2, 1, {{0, 10}, {10, 9}}, random_);
  reduction.gradients[1][17] = std::numeric_limits<float>::quiet_NaN();
  reduction.run(*backend<float>(), true, true);
  EXPECT_TRUE(std::isnan(reduction.rank_sums[3].gradient_sq));
  EXPECT_FALSE(std::isnan(reduction.rank_sums[2].gradient_sq));
  EXPECT_FALSE(std::isnan(reduction.rank_sums[1].gradient_sq));
  EXPECT_TRUE(std::isnan(reduction.mean[17]));
  EXPECT_TRUE(std::isnan(reduction.deviations[0][17]));
  reduction.run(*backend<float>(), false, true);
  EXPECT_TRUE(std::isnan(reduction.rank_sums[2].deviation_sq));
  EXPECT_TRUE(std::isnan(reduction.error_dots[2]));
}

template <class T>
void check_compare(Backend<T>& backend, Random& random) {
  std::vector<std::vector<T>> outputs;
  std::vector<std::vector<T>> references;
  std::vector<TensorSums> sums(counts.size());
  std::vector<Comparison<T>> comparisons;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    outputs.push_back(random.uniform<T>(counts[i]));
    references.push_back(random.uniform<T>(counts[i]));
    comparisons.push_back({outputs[i].data(), references[i].data(), counts[i], &sums[i]});
  }
  backend.compare(comparisons);
  backend.synchronize();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    SCOPED_TRACE(counts[i]);
    Value difference;
    for (std::size_t j = 0; j < outputs[i].size(); ++j) {
      const Real distance = static_cast<Real>(outputs[i][j]) - static_cast<Real>(references[i][j]);
      difference.add(distance * distance);
    }
    expect_sum(sums[i].gradient_sq, sum_of_squares(references[i]));
    expect_sum(sums[i].averaged_sq, sum_of_squares(outputs[i]));
    expect_sum(sums[i].difference_sq, difference);
    expect_sum(sums[i].dot, dot(outputs[i], references[i]));
  }
}

TEST_P(ElementPassesTest, CompareMeasures) {
  check_compare(*backend<float>(), random_);
  check_compare(*backend<double>(), random_);
}

template <class T>
void check_norms(Backend<T>& backend, Random& random) {
  std::vector<Segment> segments;
  std::int64_t begin = 5;
  for (const std::int64_t count : counts) {
    segments.push_back({begin, count});
    begin += count + 1;
  }
  const std::vector<T> values = random.uniform<T>(begin);
  std::vector<double> sums(3 * segments.size(), -1);
  backend.norms(values.data(), segments, sums.data(), 3);
  backend.synchronize();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    SCOPED_TRACE(segments[i].count);
    expect_sum(sums[3 * i], sum_of_squares(slice(values, segments[i])));
    EXPECT_EQ(sums[3 * i + 1], -1);
  }
}

TEST_P(ElementPassesTest, NormsMeasureEachSegment) {
  check_norms(*backend<float>(), random_);
  check_norms(*backend<double>(), random_);
}

/// The element past the end of a run.
constexpr int guard = 77;

template <class T>
void check_elementwise(Backend<T>& backend, Random& random) {
  for (const std::int64_t count : counts) {
    SCOPED_TRACE(count);
    const std::vector<T> source = random.uniform<T>(count);
    std::vector<T> sum = random.uniform<T>(count);
    sum.push_back(T{guard});
    std::vector<T> difference = sum;
    std::vector<T> quotient = sum;
    std::vector<T> copy = sum;
    std::vector<T> in_place = sum;
    const std::vector<T> before = sum;
    backend.add(source.data(), sum.data(), count);
    backend.subtract(source.data(), difference.data(), count);
    backend.divide(source.data(), 3, quotient.data(), count);
    backend.divide(in_place.data(), 3, in_place.data(), count);
    backend.copy(source.data(), copy.data(), count);
    backend.synchronize();
    for (std::size_t i = 0; i < source.size(); ++i) {
      ASSERT_EQ(sum[i], before[i] + source[i]);
      ASSERT_EQ(difference[i], before[i] - source[i]);
      ASSERT_EQ(quotient[i], source[i] / T{3});
      ASSERT_EQ(in_place[i], before[i] / T{3});
      ASSERT_EQ(copy[i], source[i]);
    }
    for (const auto* result : {&sum, &difference, &quotient, &copy, &in_place}) EXPECT_EQ(result->back(), T{guard});
  }
}

TEST_P(ElementPassesTest, ElementwiseOperationsAreExact) {
  check_elementwise(*backend<float>(), random_);
  check_elementwise(*backend<double>(), random_);
}

TEST_P(ElementPassesTest, UploadAndDownloadCopy) {
  const auto backend = this->backend<float>();
  const std::vector<float> host = random_.uniform<float>(100001);
  Buffer<float> memory = backend->allocate<float>(host.size());
  EXPECT_EQ(memory[100000], 0);
  backend->upload(host, memory.data());
  std::vector<float> back(host.size());
  backend->download(memory.data(), back);
  backend->synchronize();
  EXPECT_EQ(back, host);
}

}  // namespace
}  // namespace psgd::backend::test
