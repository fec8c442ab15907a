#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "tests/cli/dump_file.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

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
  const Outcome outcome =
      run("psgd-sweep", {"-r", "1,2,4", "--bandwidth", "1e6", "--alpha", "0", "--byte-budget", "20000", digits()});
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
      {{"--bandwidth", "1e9"}, "--bandwidth needs --alpha"},
      {{"--bandwidth", "1e9", "--alpha", "-1"}, "'--alpha'"},
      {{"--bandwidth", "-1", "--alpha", "0"}, "'--bandwidth'"},
      {{"--network", "pigeon"}, "'--network'"},
      {{"--network", "nvlink-4", "--bandwidth", "1e9"}, "--network and --bandwidth contradict"},
      {{"--network", "nvlink-4", "--network-file", "x"}, "--network and --network-file contradict"},
      {{"--network-file", "x", "--alpha", "0"}, "--network-file and --alpha contradict"},
      {{"--compression-scale", "-1"}, "'--compression-scale'"},
      {{"--fraction", "0.1"}, "--fraction has no meaning without"},
      {{"--hook", "top-k", "--fraction", "0"}, "(0, 1]"},
      {{"--hook", "top-k", "--fraction", "1.5"}, "'--fraction'"},
      {{"--hook", "qsgd", "--quantization-bits", "1"}, "'--quantization-bits'"},
      {{"--hook", "qsgd", "--quantization-chunk", "-1"}, "'--quantization-chunk'"},
      {{"--hook", "qsgd", "--fraction", "0.1"}, "--fraction has no meaning without"},
      {{"--suggest-start"}, "--suggest-start needs --spectrum-every"},
      {{"--spectrum-csv", "x.csv"}, "--spectrum-csv needs --spectrum-every"},
      {{"--spectrum-every", "1", "--spectrum-csv", "-"}, "--spectrum-csv writes to a file"},
      {{"--spectrum-every", "-1"}, "'--spectrum-every'"},
      {{"--checkpoint-seconds", "1"}, "--checkpoint-seconds needs --resume"},
      {{"--distribute", "layers"}, "'--distribute'"},
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

TEST(Sweep, SpectrumIsInJsonTextAndCsv) {
  const TemporaryDirectory folder;
  const std::string csv = folder / "values.csv";
  const auto json = sweep_json({"-r", "1,2", "--spectrum-every", "4", "--spectrum-csv", csv});
  EXPECT_EQ(json["spectrum"]["steps"], nlohmann::json({20, 24, 28}));
  EXPECT_EQ(json["spectrum"]["parameters"].size(), 35U);
  const std::size_t records = json["spectrum_records"].size();
  EXPECT_EQ(records, 3U * 35 + 2U * 2 * 12);  // mean gradients, and two configurations after the start
  EXPECT_EQ(json["spectrum_columns"].size(), json["spectrum_records"][0].size());
  EXPECT_EQ(count_lines(read_file(csv)), 1 + records);
  EXPECT_TRUE(sweep_json({"-r", "1"})["spectrum"].is_null());
  const Outcome text = run("psgd-sweep", {"-r", "1,2", "--spectrum-every", "4", digits()});
  EXPECT_THAT(text.out, HasSubstr("stable rank  effective rank"));
  EXPECT_THAT(text.out, HasSubstr("Against the best possible"));
}

TEST(Sweep, TooFewStepsForASuggestedStartAreAnInputError) {
  const Outcome outcome = run("psgd-sweep", {"--spectrum-every", "6", "--suggest-start", digits()});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("2 of 12 would be analysed, and 8 are needed"));
  EXPECT_EQ(count_lines(outcome.err), 1U);
}

TEST(Sweep, NetworksComeByNameFromAFileOrByHand) {
  const TemporaryDirectory folder;
  const std::string file = folder / "network.json";
  const auto network = [&](std::vector<std::string> arguments) {
    return sweep_json(std::move(arguments))["advice"]["network"];
  };
  const auto preset = network({"--network", "ethernet-10g", "--world-size", "16"});
  EXPECT_EQ(preset["bandwidth"], 1.25e9);
  EXPECT_EQ(preset["process_ranks"], 16);
  EXPECT_EQ(network({"--network", "ethernet-10g", "--alpha", "5e-5"})["alpha"], 5e-5);
  write_file(file, R"({"alpha": 2e-5, "bandwidth": 2e9})");
  EXPECT_NEAR(network({"--network-file", file})["bandwidth"].get<double>(), 2e9, 1);
  // Four process ranks in a ring: 6 alpha + 1.5 bytes beta.
  write_file(file, R"({"process_ranks": 4, "all_reduce": [{"bytes": 1e6, "seconds": 1.56e-3},
                       {"bytes": 1e8, "seconds": 0.15006}]})");
  const auto fitted = network({"--network-file", file});
  EXPECT_NEAR(fitted["alpha"].get<double>(), 1e-5, 1e-12);
  EXPECT_NEAR(fitted["bandwidth"].get<double>(), 1e9, 1);
  EXPECT_LT(fitted["fit_error"].get<double>(), 1e-9);
  EXPECT_TRUE(network({})["bandwidth"].is_null());
}

TEST(Sweep, BadNetworkFilesAreInputErrors) {
  const TemporaryDirectory folder;
  const std::string file = folder / "network.json";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "not JSON"},
      {"[1]", "not an object"},
      {R"({"alpha": 1e-6})", "\"bandwidth\" is missing"},
      {R"({"bandwidth": 1e9})", "\"alpha\" is missing"},
      {R"({"alpha": -1, "bandwidth": 1e9})", "\"alpha\" must be at least 0"},
      {R"({"alpha": 0, "bandwidth": 0})", "\"bandwidth\" must be positive"},
      {R"({"alpha": "fast", "bandwidth": 1})", "\"alpha\" is not a number"},
      {R"({"alpha": 0, "bandwidth": 1, "beta": 1})", "unknown key \"beta\""},
      {R"({"process_ranks": 4, "all_reduce": [{"bytes": 1, "seconds": 1}]})", "two sizes"},
      {R"({"process_ranks": 4, "all_reduce": [{"bytes": 1}]})", "all_reduce[0]: \"seconds\" is missing"},
      {R"({"process_ranks": 1, "all_reduce": [{"bytes": 1, "seconds": 1}, {"bytes": 2, "seconds": 2}]})",
       "at least 2 process ranks"},
      {R"({"process_ranks": 4, "algorithm": "star", "all_reduce": [{"bytes": 1, "seconds": 1}]})", "star"},
  };
  for (const auto& [text, expected] : cases) {
    write_file(file, text);
    const Outcome outcome = run("psgd-sweep", {"--network-file", file, digits()});
    EXPECT_EQ(outcome.code, 3) << text;
    EXPECT_THAT(outcome.err, StartsWith("psgd-sweep: error: " + file));
    EXPECT_THAT(outcome.err, HasSubstr(expected));
    EXPECT_EQ(count_lines(outcome.err), 1U);
  }
  EXPECT_EQ(run("psgd-sweep", {"--network-file", folder / "none.json", digits()}).code, 3);
}

TEST(Sweep, RefusesToDoTheSameWorkInEveryMpiProcess) {
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  const Outcome several = run("psgd-sweep", {"--distribute", "process-ranks", digits()});
  unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(several.code, 4);
  EXPECT_THAT(several.err, HasSubstr("started as one of 4 MPI processes"));
  EXPECT_THAT(several.err, HasSubstr("process-ranks"));
  EXPECT_EQ(count_lines(several.err), 1U);
  EXPECT_EQ(run("psgd-sweep", {"--distribute", "process-ranks", digits()}).code, 0);
  const Outcome transport = run("psgd-sweep", {"--transport", "mpi", digits()});
  EXPECT_EQ(transport.code, 4) << transport.err;
}

/// A dump of many small steps, and everything of a sweep's JSON that does not depend on time.
class LongSweep : public ::testing::Test {
 protected:
  LongSweep() {
    DumpFile dump;
    dump.steps.resize(20'000);
    std::iota(dump.steps.begin(), dump.steps.end(), std::int64_t{0});
    dump.write(path("long.h5"));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more) const {
    more.insert(more.end(), {"-r", "1,2", "--spectrum-every", "1000", "--json", "-", path("long.h5")});
    return more;
  }

  static nlohmann::json timeless(const std::string& text) {
    const auto json = nlohmann::json::parse(text);
    nlohmann::json kept{{"complete", json["complete"]},
                        {"dump", json["dump"]},
                        {"spectrum", json["spectrum"]},
                        {"records", json["spectrum_records"]}};
    for (auto configuration : json["configurations"]) {
      for (const char* key : {"seconds_per_step", "seconds_compressing", "seconds_read", "seconds_total"})
        configuration["summary"].erase(key);
      configuration.erase("judgement");  // break-even points come from times
      kept["configurations"].push_back(configuration);
    }
    return kept;
  }

  TemporaryDirectory folder_;
};

TEST_F(LongSweep, GoesOnAfterAnInterruptAndAfterBeingKilled) {
  const auto expected = timeless(run("psgd-sweep", arguments({})).out);
  for (const int signal : {SIGINT, SIGKILL}) {
    const std::string state = path("state" + std::to_string(signal));
    const auto more = std::vector<std::string>{"--resume", state, "--checkpoint-seconds", "0.05"};
    auto first = arguments(more);
    first.insert(first.begin(), {"--progress", "on"});
    Running program("psgd-sweep", first);
    ASSERT_TRUE(program.wait_for_error_text("/s"));
    while (!std::filesystem::exists(state)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program.signal(signal);
    EXPECT_EQ(program.finish().code, signal == SIGINT ? 130 : 128 + SIGKILL);
    const Outcome second = run("psgd-sweep", arguments(more));
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(timeless(second.out), expected);
  }
}

}  // namespace
}  // namespace psgd::test
