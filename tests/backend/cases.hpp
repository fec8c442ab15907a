#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/thread_pool.hpp"

/// What the backend's operations are tested on: one list of shapes and ranks, fresh random values, every SIMD level.
namespace psgd::backend::test {

struct Extents {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t rank = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Extents& extents) {
  return out << extents.rows << " x " << extents.cols << ", rank " << extents.rank;
}

/// Empty, thin and prime extents, either side of a vector, a group of rows, a sweep of columns and a block; ranks
/// around the kernels' groups of columns of Q.
inline std::vector<Extents> cases() {
  std::vector<Extents> list;
  const std::vector<std::pair<std::int64_t, std::int64_t>> small{
      {0, 5}, {5, 0}, {1, 1}, {1, 17}, {17, 1}, {2, 2}, {1000, 3}, {7, 13}, {31, 64}, {64, 27}, {12, 16}};
  for (const auto& [rows, cols] : small) {
    for (const std::int64_t rank : {0, 1, 2, 3, 4, 5, 8}) list.push_back({rows, cols, rank});
  }
  for (const std::int64_t rank : {6, 7, 9, 11, 16, 31, 32, 33}) list.push_back({41, 47, rank});
  const std::vector<std::pair<std::int64_t, std::int64_t>> large{{3, 1000},   {48, 1024}, {50, 1025},
                                                                 {130, 2051}, {2, 40000}, {9000, 16}};
  for (const auto& [rows, cols] : large) {
    for (const std::int64_t rank : {1, 2, 5}) list.push_back({rows, cols, rank});
  }
  return list;
}

/// Differs from run to run; PSGD_TEST_SEED repeats one.
inline unsigned seed() {
  static const unsigned value = [] {
    if (const char* text = std::getenv("PSGD_TEST_SEED")) return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
    return static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count());
  }();
  return value;
}

class Random {
 public:
  Random() : engine_(seed()) {}

  /// `count` values between -scale and scale.
  template <class T>
  std::vector<T> uniform(std::int64_t count, double scale = 1) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(scale * (static_cast<double>(engine_() >> 11) * 0x1p-52 - 1));
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

/// One test for every SIMD level.
class AtLevel : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    if (HasFailure()) std::cerr << "PSGD_TEST_SEED=" << seed() << " repeats this\n";
  }

  template <class T>
  std::unique_ptr<Backend<T>> backend() {
    return cpu<T>(pool_, GetParam());
  }

  Random random_;

 private:
  ThreadPool pool_{2};
};

inline std::string level_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

#define PSGD_AT_EVERY_LEVEL(suite) \
  INSTANTIATE_TEST_SUITE_P(Simd, suite, testing::ValuesIn(cpu_simd_levels()), psgd::backend::test::level_name)

/// Half the distance from 1 to the next number.
template <class T>
constexpr double roundoff = std::numeric_limits<T>::epsilon() / 2;

/// A sum in float64 of products that are exact there (or rounded once) may be off by this much of the sum of their
/// sizes.
inline constexpr double sum_tolerance = 1e-13;

}  // namespace psgd::backend::test
