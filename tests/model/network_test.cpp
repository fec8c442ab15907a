#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libpsgd/base/error.hpp"
#include "libpsgd/model/network_fit.hpp"
#include "libpsgd/model/network_presets.hpp"

namespace psgd::model {
namespace {

TEST(NetworkPresets, AreSoundAndSlowestFirst) {
  double before = 1e300;
  for (const NetworkPreset& preset : network_presets()) {
    EXPECT_NO_THROW(check(preset.network)) << preset.name;
    EXPECT_LE(preset.network.beta, before) << preset.name;
    EXPECT_FALSE(preset.source.empty()) << preset.name;
    EXPECT_EQ(&network_preset(preset.name), &preset);
    before = preset.network.beta;
  }
  EXPECT_DOUBLE_EQ(1 / network_preset("ethernet-10g").network.beta, 1.25e9);
  EXPECT_THROW(network_preset("pigeon"), Error);
}

TEST(NetworkFit, FindsWhatMadeTheTimes) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
    for (const std::int64_t ranks : {2, 5, 64}) {
      const Network truth{7e-6, 1 / 3e9};
      std::vector<TimedAllReduce> measurements;
      for (const double bytes : {1e3, 1e5, 1e7, 1e9})
        measurements.push_back({bytes, all_reduce_seconds(algorithm, truth, ranks, bytes)});
      const NetworkFit fit = fit_network(algorithm, ranks, measurements);
      EXPECT_NEAR(fit.network.alpha / truth.alpha, 1, 1e-9);
      EXPECT_NEAR(fit.network.beta / truth.beta, 1, 1e-9);
      EXPECT_LT(fit.largest_relative_error, 1e-9);
    }
  }
}

TEST(NetworkFit, SaysHowFarTheModelIsOff) {
  const std::vector<TimedAllReduce> measurements{{1e6, 1e-3}, {2e6, 3e-3}, {4e6, 4e-3}};
  const NetworkFit fit = fit_network(Algorithm::ring, 4, measurements);
  EXPECT_GE(fit.network.alpha, 0);
  EXPECT_GT(fit.network.beta, 0);
  EXPECT_GT(fit.largest_relative_error, 0.05);
}

TEST(NetworkFit, KeepsTheLatencyFromBecomingNegative) {
  const std::vector<TimedAllReduce> measurements{{1e6, 1e-3}, {2e6, 3e-3}};
  const NetworkFit fit = fit_network(Algorithm::ring, 2, measurements);
  EXPECT_EQ(fit.network.alpha, 0);
  EXPECT_GT(fit.network.beta, 0);
}

TEST(NetworkFit, RefusesWhatSaysNothing) {
  using List = std::vector<TimedAllReduce>;
  EXPECT_THROW(fit_network(Algorithm::ring, 4, List{}), Error);
  EXPECT_THROW(fit_network(Algorithm::ring, 4, List{{1e6, 1e-3}, {1e6, 2e-3}}), Error);
  EXPECT_THROW(fit_network(Algorithm::ring, 1, List{{1e6, 1e-3}, {2e6, 2e-3}}), Error);
  EXPECT_THROW(fit_network(Algorithm::ring, 4, List{{1e6, 1e-3}, {2e6, -2e-3}}), Error);
  EXPECT_THROW(fit_network(Algorithm::ring, 4, List{{1e6, 2e-3}, {2e6, 2e-3 * 0.5}}), Error);
}

}  // namespace
}  // namespace psgd::model
