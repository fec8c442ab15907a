#include "tools/common/progress_bar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace psgd::tools {
namespace {

TEST(ProgressLine, ShowsCountsRateAndTimeLeft) {
  EXPECT_EQ(progress_line({25, 100, "steps", 5.0}, 80),
            "25/100 steps [#######.......................]  25%  5 steps/s  15 s left");
  EXPECT_EQ(progress_line({0, 8, "steps", 0.0}, 80), "0/8 steps [..............................]   0%");
}

TEST(ProgressLine, TheBarGivesWayWhereThereIsLittleRoom) {
  const std::string line = progress_line({25, 100, "steps", 5.0}, 45);
  EXPECT_EQ(line, "25/100 steps  25%  5 steps/s  15 s left");
  for (std::size_t width = 1; width < 100; ++width) {
    EXPECT_LE(progress_line({25, 100, "steps", 5.0}, width).size(), width);
  }
}

TEST(ProgressLine, AnUnknownTotalHasNoBar) {
  EXPECT_EQ(progress_line({7, 0, "gradients", 2.0}, 80), "7 gradients  3.5 gradients/s");
}

TEST(ProgressLine, MoreThanTheTotalIsTheTotal) {
  EXPECT_NE(progress_line({12, 8, "steps", 1.0}, 80).find("8/8 steps"), std::string::npos);
}

TEST(DurationText, TakesTheUnitsThatMatter) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(6.2), "7 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
}

TEST(ProgressBar, DrawsAtBeginningAndLeavesNothingAtTheEnd) {
  std::vector<std::string> drawn;
  ProgressBar bar([&](std::string_view text) { drawn.emplace_back(text); }, [] { return std::size_t{60}; });
  bar.begin(1000, "steps");
  for (int i = 0; i < 1000; ++i) bar.advance(1);
  EXPECT_LE(drawn.size(), 3u) << "it is drawn anew ten times a second at most";
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  bar.advance(1);
  EXPECT_GE(drawn.size(), 2u);
  bar.end();
  EXPECT_EQ(drawn.back(), "\r\x1b[K");
  const std::size_t before = drawn.size();
  bar.hide();
  EXPECT_EQ(drawn.size(), before) << "there is nothing to hide";
}

}  // namespace
}  // namespace psgd::tools
