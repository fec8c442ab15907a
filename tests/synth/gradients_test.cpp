#include "libpsgd/synth/gradients.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/metrics/spectrum.hpp"

namespace psgd::synth {
namespace {

GradientsOptions options() {
  GradientsOptions options;
  options.shapes = {{24, 17}, {40}, {}, {0, 3}, {6, 2, 3, 3}, {1, 50}};
  options.world_size = 3;
  options.spectrum = spectrum_from_string("geometric:0.5");
  options.spectrum_rank = 5;
  options.scale = 2;
  options.seed = 7;
  return options;
}

template <class T>
std::vector<T> steps_of(const GradientsOptions& options, std::size_t threads, int steps) {
  ThreadPool pool(threads);
  const auto backend = backend::cpu<T>(pool);
  Gradients<T> gradients(options, *backend, pool);
  std::vector<T> all;
  for (int step = 0; step < steps; ++step) {
    gradients.next_step();
    for (std::size_t w = 0; w < static_cast<std::size_t>(options.world_size); ++w) {
      for (std::size_t i = 0; i < options.shapes.size(); ++i) {
        const T* const from = gradients.gradient(w, i);
        if (from != nullptr) all.insert(all.end(), from, from + numel(options.shapes[i]));
      }
    }
  }
  return all;
}

std::vector<double> mean_of(const Gradients<double>& gradients, std::size_t ranks, std::size_t parameter,
                            std::int64_t count) {
  std::vector<double> mean(static_cast<std::size_t>(count));
  for (std::size_t w = 0; w < ranks; ++w) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += gradients.gradient(w, parameter)[i] / static_cast<double>(ranks);
    }
  }
  return mean;
}

TEST(Gradients, TheirMeanHasTheSpectrumAskedFor) {
  ThreadPool pool(2);
  const auto backend = backend::cpu<double>(pool);
  Gradients<double> gradients(options(), *backend, pool);
  for (int step = 0; step < 3; ++step) {
    gradients.next_step();
    const std::vector<double> mean = mean_of(gradients, 3, 0, 24 * 17);
    const auto spectrum = metrics::spectrum(mean.data(), 24, 17);
    ASSERT_TRUE(spectrum);
    ASSERT_GE(spectrum->values.size(), 6U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(spectrum->values[i], 2 * std::pow(0.5, i), 1e-12);
    EXPECT_NEAR(spectrum->values[5], 0, 1e-12);
  }
}

TEST(Gradients, ProcessRanksDifferByTheNoise) {
  GradientsOptions wanted = options();
  wanted.noise = 0.25;
  wanted.shapes = {{200, 300}};
  ThreadPool pool(1);
  const auto backend = backend::cpu<double>(pool);
  Gradients<double> gradients(wanted, *backend, pool);
  gradients.next_step();
  const std::vector<double> mean = mean_of(gradients, 3, 0, 200 * 300);
  double norm = 0;
  for (const double value : mean) norm += value * value;
  for (std::size_t w = 0; w < 3; ++w) {
    double difference = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) difference += std::pow(gradients.gradient(w, 0)[i] - mean[i], 2);
    EXPECT_NEAR(std::sqrt(difference / norm), 0.25, 0.01);
  }
}

TEST(Gradients, DriftDecidesHowFarStepsLieApart) {
  const auto turned = [](double drift) {
    GradientsOptions wanted = options();
    wanted.world_size = 1;
    wanted.shapes = {{60, 50}};
    wanted.drift = drift;
    const std::vector<double> two = steps_of<double>(wanted, 1, 2);
    double difference = 0;
    for (std::size_t i = 0; i < 3000; ++i) difference += std::pow(two[i] - two[3000 + i], 2);
    return difference;
  };
  EXPECT_LT(turned(0), 1e-20);
  EXPECT_LT(turned(0.01), turned(0.1));
  EXPECT_LT(turned(0.1), turned(1));
}

TEST(Gradients, AreTheSameForEveryNumberOfThreadsAndOtherForAnotherSeed) {
  const std::vector<float> once = steps_of<float>(options(), 1, 2);
  EXPECT_EQ(once, steps_of<float>(options(), 3, 2));
  GradientsOptions other = options();
  other.seed = 8;
  EXPECT_NE(once, steps_of<float>(other, 1, 2));
}

TEST(Gradients, RefuseWhatMakesNoSense) {
  ThreadPool pool(1);
  const auto backend = backend::cpu<float>(pool);
  for (const auto& change :
       {+[](GradientsOptions& o) { o.world_size = 0; }, +[](GradientsOptions& o) { o.noise = -1; },
        +[](GradientsOptions& o) { o.drift = NAN; }, +[](GradientsOptions& o) { o.spectrum_rank = 0; }}) {
    GradientsOptions bad = options();
    change(bad);
    EXPECT_THROW(Gradients<float>(bad, *backend, pool), Error);
  }
}

}  // namespace
}  // namespace psgd::synth
