#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/dump_file.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t many_steps = 200'000;

/// A dump of so many small steps that going through it takes seconds, shared by the tests.
class Interrupt : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryDirectory;
    DumpFile dump;
    dump.steps.resize(many_steps);
    std::iota(dump.steps.begin(), dump.steps.end(), std::int64_t{0});
    dump.parameters = {{"w", {6, 4}}};
    dump.write(*folder / "long.h5");
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }

  static std::string path(const std::string& name) { return *folder / name; }

  static inline TemporaryDirectory* folder = nullptr;
};

TEST_P(Interrupt, ASignalEndsAtTheNextStepAndWritesWhatIsThere) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Running program(GetParam(), {"--progress", "on", "--json", "-", "--csv", path("result.csv"), path("long.h5")});
    ASSERT_TRUE(program.wait_for_error_text("/s")) << "the bar shows a rate once some steps are done";
    program.signal(signal);
    const Outcome outcome = program.finish();
    EXPECT_EQ(outcome.code, 130);
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json["complete"], false);
    EXPECT_GT(count_lines(read_file(path("result.csv"))), 1u);
    EXPECT_LT(count_lines(read_file(path("result.csv"))), many_steps);
    EXPECT_THAT(outcome.err, ::testing::EndsWith("\r\x1b[K")) << "the bar is taken away";
    EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("error")));
  }
}

TEST_P(Interrupt, TheTableSaysThatItIsIncomplete) {
  Running program(GetParam(), {"--progress", "on", path("long.h5")});
  ASSERT_TRUE(program.wait_for_error_text("/s"));
  program.signal(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.out, ::testing::StartsWith("INCOMPLETE"));
}

TEST_P(Interrupt, AnIgnoredSignalStaysIgnored) {
  RunOptions options;
  options.ignore_interrupt = true;
  Running program(GetParam(), {"--progress", "on", "--json", path("ignored.json"), path("long.h5")}, options);
  ASSERT_TRUE(program.wait_for_error_text("/s"));
  program.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  program.signal(SIGTERM);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 130) << "SIGTERM is not ignored";
}

INSTANTIATE_TEST_SUITE_P(EveryProgram, Interrupt, ::testing::Values("psgd-inspect", "psgd-replay"),
                         [](const auto& program) { return program.param.substr(5); });

}  // namespace
}  // namespace psgd::test
