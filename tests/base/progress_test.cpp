#include "libpsgd/base/progress.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace psgd {
namespace {

class Recorder final : public Progress {
 public:
  void begin(std::uint64_t total, std::string_view unit) override {
    calls.push_back("begin " + std::to_string(total) + " " + std::string(unit));
  }
  void advance(std::uint64_t units) override { calls.push_back("advance " + std::to_string(units)); }
  void end() override { calls.emplace_back("end"); }

  std::vector<std::string> calls;
};

TEST(Progress, ScopeBeginsAdvancesAndEnds) {
  Recorder recorder;
  {
    ProgressScope scope(recorder, 3, "steps");
    scope.advance();
    scope.advance(2);
  }
  EXPECT_EQ(recorder.calls, (std::vector<std::string>{"begin 3 steps", "advance 1", "advance 2", "end"}));
}

TEST(Progress, ScopeEndsWhenAnExceptionLeavesIt) {
  Recorder recorder;
  EXPECT_THROW(
      {
        ProgressScope scope(recorder, 0, "bytes");
        throw std::runtime_error("stop");
      },
      std::runtime_error);
  EXPECT_EQ(recorder.calls, (std::vector<std::string>{"begin 0 bytes", "end"}));
}

TEST(Progress, NoProgressTakesEverything) {
  ProgressScope scope(no_progress(), 2, "steps");
  scope.advance(5);
}

}  // namespace
}  // namespace psgd
