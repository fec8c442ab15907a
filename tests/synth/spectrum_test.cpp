#include "libpsgd/synth/spectrum.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"

namespace psgd::synth {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(Spectrum, FollowsItsFormula) {
  EXPECT_THAT(singular_values(spectrum_from_string("flat"), 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(singular_values(spectrum_from_string("power:2"), 3),
              ElementsAre(1, DoubleEq(1.0 / 4), DoubleEq(1.0 / 9)));
  EXPECT_THAT(singular_values(spectrum_from_string("geometric:0.5"), 3), ElementsAre(1, 0.5, 0.25));
  EXPECT_TRUE(singular_values(spectrum_from_string("flat"), 0).empty());
}

TEST(Spectrum, IsSpelledAsItIsRead) {
  for (const char* text : {"flat", "power:0", "power:1.5", "geometric:0.25", "geometric:1"}) {
    EXPECT_EQ(to_string(spectrum_from_string(text)), text);
  }
}

TEST(Spectrum, RefusesOtherTexts) {
  for (const char* text : {"", "flat:1", "power", "power:", "power:x", "power:-1", "power:inf", "power:nan", "power:1 ",
                           "geometric:0", "geometric:1.1", "gauss:1"}) {
    EXPECT_THROW(spectrum_from_string(text), Error) << text;
  }
}

}  // namespace
}  // namespace psgd::synth
