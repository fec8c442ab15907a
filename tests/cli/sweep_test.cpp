#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace psgd::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string digits() { return repository_file("datasets/digits-vit.h5"); }

nlohmann::json sweep_json(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "-", digits()});
  const Outcome outcome = run("psgd-sweep", arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

TEST(Sweep, JsonHasWhatTheContractSays) {
  const auto json = sweep_json({"-r", "1,2,4", "--warm-start", "on,off"});
  EXPECT_EQ(json["schema"], "psgd-sweep");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["passes"], 1);
  ASSERT_EQ(json["configurations"].size(), 6U);
  EXPECT_EQ(json["configurations"][1]["config"]["warm_start"], false);
  EXPECT_EQ(json["configurations"][5]["config"]["matrix_approximation_rank"], 4);
  EXPECT_TRUE(json["advice"].contains("recommended"));
}

TEST(Sweep, SummariesEqualThoseOfSeparateReplays) {
  const auto sweep = sweep_json({"-r", "1,3"});
  for (std::size_t i = 0; i < 2; ++i) {
    const Outcome outcome = run("psgd-replay", {"-r", i == 0 ? "1" : "3", "--json", "-", digits()});
    const auto replay = nlohmann::json::parse(outcome.out);
    for (const char* part : {"compression_stats", "relative_error", "relative_error_whole_model", "hazards"}) {
      EXPECT_EQ(sweep["configurations"][i]["summary"][part], replay["summary"][part]) << part;
    }
  }
}

TEST(Sweep, CsvHasARowAConfiguration) {
  const Outcome outcome = run("psgd-sweep", {"-r", "1,2", "--csv", "-", digits()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("configuration,hook,matrix_approximation_rank,bytes_per_step,"));
  EXPECT_EQ(count_lines(outcome.out), 3U);
}

TEST(Sweep, TextAdvisesWithReasons) {
  const Outcome outcome = run("psgd-sweep", {"-r", "1,2,4", "--bandwidth", "1e6", "--byte-budget", "20000", digits()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Ranks layer by layer"));
  EXPECT_THAT(outcome.out, HasSubstr("PowerSGDState(process_group=None, matrix_approximation_rank="));
  EXPECT_THAT(outcome.out, HasSubstr("Open loop"));
}

TEST(Sweep, BadGridsAndBudgetsAreUsageErrors) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"-r", "1,1"}, "twice"},
      {{"-r", "1,,2"}, "'--matrix-approximation-rank'"},
      {{"-r", ""}, "'--matrix-approximation-rank'"},
      {{"--start-powerSGD-iter", "0,2"}, "configuration start=0"},
      {{"--alpha", "1e-6"}, "--alpha needs --bandwidth"},
      {{"--bandwidth", "0"}, "--bandwidth must be positive"},
      {{"--byte-budget", "0"}, "--byte-budget must be positive"},
      {{"--hook", "zip"}, "'--hook'"},
  };
  for (const auto& [arguments, expected] : cases) {
    std::vector<std::string> all = arguments;
    all.push_back(digits());
    const Outcome outcome = run("psgd-sweep", all);
    EXPECT_EQ(outcome.code, 2) << expected;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("psgd-sweep: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(expected));
    EXPECT_EQ(count_lines(outcome.err), 1U);
  }
}

}  // namespace
}  // namespace psgd::test
