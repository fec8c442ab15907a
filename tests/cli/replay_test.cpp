#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/dump_file.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string cnn = repository_file("tests/golden/digits-cnn-f32.h5");
const std::string lstm = repository_file("tests/golden/char-lstm-f64.h5");

class Replay : public ::testing::Test {
 protected:
  static json replay(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--json", "-"});
    const Outcome outcome = run("psgd-replay", arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return json::parse(outcome.out, nullptr, false);
  }

  static void expect_error(const std::vector<std::string>& arguments, int code, const std::string& named) {
    const Outcome outcome = run("psgd-replay", arguments);
    EXPECT_EQ(outcome.code, code) << ::testing::PrintToString(arguments) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("psgd-replay: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(named));
    EXPECT_EQ(count_lines(outcome.err), 1u) << outcome.err;
  }

  static std::size_t column(const json& document, const std::string& name) {
    const auto columns = document["columns"].get<std::vector<std::string>>();
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  TemporaryDirectory folder_;
};

TEST_F(Replay, TheDocumentKeepsTheContract) {
  const json document = replay({"-r", "2", cnn});
  EXPECT_EQ(document["schema"], "psgd-replay");
  EXPECT_EQ(document["version"], 1);
  EXPECT_EQ(document["complete"], true);
  EXPECT_EQ(document["dump"]["files"], json({cnn}));
  EXPECT_EQ(document["dump"]["world_size"], 2);
  EXPECT_EQ(document["dump"]["process_ranks"], json({0, 1}));
  EXPECT_EQ(document["dump"]["steps"], json({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(document["dump"]["parameters"], 11);
  EXPECT_EQ(document["dump"]["numel"], 53362);
  EXPECT_EQ(document["dump"]["dtype"], "float32");
  const json& summary = document["summary"];
  EXPECT_EQ(summary["compression_stats"][1], 320172);
  EXPECT_EQ(summary["compression_stats"][2], 13248);
  for (const char* name : {"relative_error", "relative_error_whole_model"}) {
    for (const char* statistic : {"mean", "median", "max"}) EXPECT_TRUE(summary[name][statistic].is_number());
  }
  for (const char* name : {"seconds_per_step", "seconds_read", "seconds_upload", "seconds_total"}) {
    EXPECT_TRUE(summary[name].is_number()) << name;
  }
  EXPECT_TRUE(summary["hazards"].is_array());
  const std::vector<std::string> expected{"step",
                                          "parameter",
                                          "bucket",
                                          "rows",
                                          "cols",
                                          "compressed",
                                          "numel_before",
                                          "numel_after",
                                          "gradient_norm",
                                          "averaged_norm",
                                          "relative_error",
                                          "cosine",
                                          "residual_norm_rank0",
                                          "residual_norm_rank1"};
  const auto columns = document["columns"].get<std::vector<std::string>>();
  ASSERT_GE(columns.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), columns.begin())) << document["columns"];
  ASSERT_EQ(document["records"].size(), 8u * 11);
  for (const json& row : document["records"]) EXPECT_EQ(row.size(), columns.size());
  EXPECT_EQ(document["bucket_records"].size(), 8u * 2);
  EXPECT_EQ(document["bucket_records"][0].size(), document["bucket_columns"].size());
}

TEST_F(Replay, TheConfigurationHoldsEveryOption) {
  const json config = replay({"-r", "2", "--steps", "2:5", "--exclude", "*.bias", cnn})["config"];
  std::set<std::string> names;
  for (const auto& [name, value] : config.items()) names.insert(name);
  for (const char* name : {"hook",
                           "matrix_approximation_rank",
                           "start_powerSGD_iter",
                           "min_compression_rate",
                           "use_error_feedback",
                           "warm_start",
                           "batch_tensors_with_same_shape",
                           "orthogonalization_epsilon",
                           "random_seed",
                           "compression_stats_logging_frequency",
                           "orthogonalization",
                           "residual",
                           "arithmetic",
                           "dtype",
                           "backend",
                           "transport",
                           "steps",
                           "process_ranks",
                           "parameters",
                           "exclude",
                           "json",
                           "csv",
                           "output",
                           "state_out",
                           "state_in",
                           "memory_limit",
                           "threads",
                           "progress",
                           "quiet"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(config["matrix_approximation_rank"], 2);
  EXPECT_EQ(config["use_error_feedback"], true);
  EXPECT_EQ(config["start_powerSGD_iter"], 2);
  EXPECT_EQ(config["steps"], json({2, 5}));
  EXPECT_EQ(config["exclude"], json({"*.bias"}));
  EXPECT_EQ(config["csv"], nullptr);
}

TEST_F(Replay, CsvHasTheSameRowsAndColumns) {
  const Outcome outcome = run("psgd-replay", {"--csv", "-", "--json", path("a.json"), "-r", "2", cnn});
  EXPECT_EQ(outcome.code, 0);
  const json document = json::parse(read_file(path("a.json")));
  std::istringstream lines(outcome.out);
  std::string header;
  std::getline(lines, header);
  std::string expected;
  for (const json& name : document["columns"]) {
    if (!expected.empty()) expected += ',';
    expected += name.get<std::string>();
  }
  EXPECT_EQ(header, expected);
  EXPECT_EQ(count_lines(outcome.out), document["records"].size() + 1);
}

TEST_F(Replay, TheReportForAPerson) {
  const Outcome outcome = run("psgd-replay", {"-r", "2", cnn});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* text :
       {"8 steps (0 to 7), 2 process ranks, 11 parameters with 53,362 elements in float32", "powersgd, rank 2, seed 0",
        "24.17 times: 320,172 elements became 13,248", "7.weight", "Relative error", "Whole model's error",
        "What to try next", "Open loop: the gradients come from the trajectory"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST_F(Replay, StepsAndParametersAreChosen) {
  const json document = replay({"--steps", "3:5", "--parameters", "*.weight", "--exclude", "12.*,1.*", cnn});
  EXPECT_EQ(document["dump"]["steps"], json({3, 4, 5}));
  std::set<std::string> names;
  for (const json& row : document["records"]) names.insert(row[1].get<std::string>());
  EXPECT_EQ(names, (std::set<std::string>{"0.weight", "3.weight", "4.weight", "7.weight", "8.weight"}));
  expect_error({"--parameters", "no.such*", cnn}, 2, "--parameters");
  expect_error({"--steps", "100:200", cnn}, 3, cnn);
}

TEST_F(Replay, ProcessRanksAreChosenAndKeepTheirIds) {
  const json document = replay({"--process-ranks", "3,1", "-r", "1", lstm});
  EXPECT_EQ(document["dump"]["process_ranks"], json({3, 1}));
  EXPECT_LT(column(document, "residual_norm_rank3"), column(document, "residual_norm_rank1"));
  EXPECT_EQ(column(document, "residual_norm_rank0"), document["columns"].size());
  expect_error({"--process-ranks", "0,9", lstm}, 3, "9");
}

TEST_F(Replay, MissingProcessRanksAreNamed) {
  DumpFile dump;
  dump.world_size = 4;
  dump.process_ranks = {1, 3};
  dump.write(path("half.h5"));
  expect_error({path("half.h5")}, 3, "process ranks 0,2 of 4 are missing");
  EXPECT_EQ(replay({"--process-ranks", "1,3", path("half.h5")})["dump"]["process_ranks"], json({1, 3}));
}

TEST_F(Replay, AZeroDimensionalParameterNamesTheWayOut) {
  DumpFile dump;
  dump.parameters.push_back({"temperature", {}});
  dump.write(path("scalar.h5"));
  expect_error({path("scalar.h5")}, 3, "temperature");
  expect_error({path("scalar.h5")}, 3, "--exclude");
  replay({"--exclude", "temperature", path("scalar.h5")});
}

TEST_F(Replay, NumbersThatAreNotFinite) {
  DumpFile dump;
  dump.value = [](std::size_t parameter, std::size_t step, std::size_t process_rank, std::size_t element) {
    const bool bad = parameter == 0 && step == 2 && process_rank == 1 && element == 3;
    return bad ? std::numeric_limits<float>::quiet_NaN()
               : static_cast<float>(element % 7) - 2.5F + static_cast<float>(step);
  };
  dump.write(path("nan.h5"));
  const json document = replay({"--csv", path("nan.csv"), path("nan.h5")});
  const auto has_hazard = [&](const std::string& kind) {
    return std::any_of(document["summary"]["hazards"].begin(), document["summary"]["hazards"].end(),
                       [&](const json& hazard) { return hazard["kind"] == kind; });
  };
  EXPECT_TRUE(has_hazard("non-finite-input"));
  EXPECT_TRUE(has_hazard("non-finite-output"));
  EXPECT_EQ(document["records"].back()[column(document, "gradient_norm")].is_number(), true);
  EXPECT_THAT(read_file(path("nan.csv")), HasSubstr(",nan,"));
  const Outcome table = run("psgd-replay", {path("nan.h5")});
  EXPECT_THAT(table.out, HasSubstr("non-finite-input"));
  EXPECT_THAT(table.out, HasSubstr("fc.weight, step 2, process rank 1"));
}

TEST_F(Replay, TheOriginalHookTakesARankAndASeed) {
  const json document = replay({"--hook", "original", "-r", "3", "--random-seed", "7", cnn});
  EXPECT_EQ(document["config"]["hook"], "original");
  EXPECT_EQ(document["records"][0][column(document, "numel_after")], nullptr);
  EXPECT_EQ(document["records"][0][column(document, "residual_norm_rank0")], nullptr);
  for (const char* absent : {"use_error_feedback", "warm_start", "batch_tensors_with_same_shape",
                             "orthogonalization_epsilon", "compression_stats_logging_frequency"}) {
    EXPECT_EQ(document["config"][absent], nullptr) << absent;
  }
  replay({"--hook", "original", "--use-error-feedback", "off", "--warm-start", "off", cnn});
  const std::vector<std::pair<std::string, std::string>> contrary{{"use-error-feedback", "on"},
                                                                  {"warm-start", "on"},
                                                                  {"start-powerSGD-iter", "2"},
                                                                  {"min-compression-rate", "2"},
                                                                  {"orthogonalization-epsilon", "1e-8"},
                                                                  {"residual", "local"},
                                                                  {"orthogonalization", "householder"},
                                                                  {"batch-tensors-with-same-shape", "on"},
                                                                  {"compression-stats-logging-frequency", "5"},
                                                                  {"state-out", path("state.h5")}};
  for (const auto& [option, value] : contrary) {
    expect_error({"--hook", "original", "--" + option, value, cnn}, 2,
                 "'--" + option + "' contradicts --hook original");
  }
}

TEST_F(Replay, OptionsThatContradictEachOther) {
  expect_error({"--start-powerSGD-iter", "1", cnn}, 2, "start_powerSGD_iter");
  expect_error({"--residual", "local", "--arithmetic", "fused", cnn}, 2, "--residual");
  expect_error({"--steps", "5:2", cnn}, 2, "'--steps'");
  expect_error({"--hook", "best", cnn}, 2, "option '--hook': 'best' is not powersgd, batched, original");
  expect_error({"--random-seed", "4294967296", cnn}, 2, "'--random-seed'");
  expect_error({"--random-seed", "-1", cnn}, 2, "'--random-seed'");
  expect_error({"--matrix-approximation-rank", "-1", cnn}, 2, "'--matrix-approximation-rank'");
  expect_error({"--process-ranks", "0,0", cnn}, 2, "'--process-ranks'");
  expect_error({"--parameters", "", cnn}, 2, "'--parameters'");
  expect_error({"--use-error-feedback", "yes", cnn}, 2, "option '--use-error-feedback': 'yes' is neither on nor off");
}

TEST_F(Replay, WhatIsNotBuiltIsSaid) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--transport", "mpi", cnn}, std::vector<std::string>{"--memory-limit", "1000", cnn}}) {
    expect_error(arguments, 4, "");
  }
}

TEST_F(Replay, LogLinesAreThoseOfPyTorch) {
  const Outcome quiet = run("psgd-replay", {"--log-level", "info", "--quiet", "--csv", "-", cnn});
  EXPECT_EQ(quiet.err, "");
  const Outcome outcome = run("psgd-replay", {"--log-level", "info", "-r", "2", "--csv", "-", cnn});
  EXPECT_EQ(outcome.code, 0);
  for (const char* line :
       {"psgd-replay: info: PowerSGD config: matrix_approximation_rank = 2; start_powerSGD_iter = 2; "
        "min_compression_rate = 2; ",
        "\npsgd-replay: info: Start to apply PowerSGD after 2 iterations.\n",
        "\npsgd-replay: info: Compression stats: iter 2, ", "\npsgd-replay: info: A zero tensor of length "}) {
    EXPECT_THAT(outcome.err, HasSubstr(line));
  }
}

TEST_F(Replay, AProgressBarIsDrawnOnlyWhenAskedFor) {
  const Outcome bar = run("psgd-replay", {"--progress", "on", "--csv", "-", cnn});
  EXPECT_THAT(bar.err, HasSubstr("0/8 steps ["));
  EXPECT_THAT(bar.err, ::testing::EndsWith("\r\x1b[K"));
  EXPECT_EQ(run("psgd-replay", {"--progress", "on", "--quiet", "--csv", "-", cnn}).err, "");
  EXPECT_EQ(run("psgd-replay", {"--progress", "auto", "--csv", "-", cnn}).err, "") << "standard error is no terminal";
}

TEST_F(Replay, ARunCutInTwoGoesOnExactly) {
  const std::vector<std::string> knobs{"-r", "2", "--csv"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = knobs;
    all.insert(all.end(), more.begin(), more.end());
    return run("psgd-replay", all);
  };
  const Outcome whole = with({"-", cnn});
  const Outcome first = with({"-", "--steps", ":4", "--state-out", path("state.h5"), cnn});
  const Outcome second = with({"-", "--steps", "5:", "--state-in", path("state.h5"), cnn});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(first.out + second.out.substr(second.out.find('\n') + 1), whole.out);
  expect_error({"--state-in", path("state.h5"), "-r", "3", cnn}, 3, "matrix_approximation_rank differs");
  expect_error({"--state-in", cnn, cnn}, 3, cnn);
}

TEST_F(Replay, TheSameWhateverTheNumberOfThreads) {
  const Outcome one = run("psgd-replay", {"--threads", "1", "--csv", "-", "-r", "4", lstm});
  const Outcome three = run("psgd-replay", {"--threads", "3", "--csv", "-", "-r", "4", lstm});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, three.out);
}

TEST_F(Replay, AFullDiskLeavesOldOutputsWhereverItStrikes) {
  for (const char* option : {"--output", "--state-out"}) {
    const std::string file = path(std::string(option).substr(2));
    ASSERT_EQ(run("psgd-replay", {option, file, cnn}).code, 0);
    const std::string before = read_file(file);
    for (const std::size_t limit : {100U, 3000U, 50'000U, 200'000U, 400'000U}) {
      if (limit > before.size()) break;
      RunOptions options;
      options.file_size_limit = limit;
      const Outcome outcome = run("psgd-replay", {option, file, cnn}, options);
      EXPECT_EQ(outcome.code, 3) << option << limit;
      EXPECT_THAT(outcome.err, StartsWith("psgd-replay: error: " + file + ": ")) << option << limit;
      EXPECT_EQ(count_lines(outcome.err), 1u) << outcome.err;
      EXPECT_EQ(read_file(file), before);
    }
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2) << "no temporary stays";
}

TEST_F(Replay, OutputFilesAreCheckedLikeTheOthers) {
  expect_error({"--output", path("none/a.h5"), cnn}, 3, path("none/a.h5") + ": cannot write");
  expect_error({"--output", path("a"), "--state-out", path("a"), cnn}, 2,
               "--output and --state-out name the same file");
  expect_error({"--output", cnn, cnn}, 2, "--output " + cnn);
  const Outcome outcome = run("psgd-replay", {"--output", path("averaged.h5"), cnn});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(read_file(path("averaged.h5")), HasSubstr("HDF"));
  EXPECT_EQ(run("psgd-replay", {"--output", path("averaged.h5"), cnn}).code, 0) << "an earlier output may be replaced";
  expect_error({"--output", "-", cnn}, 2, "HDF5 cannot be written to standard output");
  std::filesystem::copy_file(lstm, path("other.h5"));
  std::filesystem::permissions(path("other.h5"), std::filesystem::perms::owner_all);
  for (const char* option : {"--output", "--state-out", "--json", "--csv"}) {
    expect_error({option, path("other.h5"), cnn}, 2, "would replace a recording");
  }
  expect_error({"--json", path("averaged.h5"), cnn}, 2, "would replace an HDF5 file");
  EXPECT_EQ(run("psgd-replay", {"--state-out", path("state.h5"), "--steps", ":3", cnn}).code, 0);
  expect_error({"--state-in", path("state.h5"), "--output", path("state.h5"), "--steps", "4:", cnn}, 2,
               "this is a file to read from");
  EXPECT_EQ(
      run("psgd-replay", {"--state-in", path("state.h5"), "--state-out", path("state.h5"), "--steps", "4:", cnn}).code,
      0)
      << "a state may grow in place";
  write_file(path("knobs"), "matrix-approximation-rank = 2\n");
  expect_error({"--config", path("knobs"), "--csv", path("knobs"), cnn}, 2, "this is a file to read from");
  EXPECT_EQ(read_file(path("other.h5")), read_file(lstm));
}

TEST(ReplayBaselines, TakeTheirOptionsAndRefuseOthers) {
  const auto document =
      nlohmann::json::parse(run("psgd-replay", {"--hook", "top-k", "--fraction", "0.25", "--json", "-", cnn}).out);
  EXPECT_EQ(document["config"]["fraction"], 0.25);
  const auto after = [](const std::string& fraction) {
    return nlohmann::json::parse(run("psgd-replay", {"--hook", "top-k", "--fraction", fraction, "--json", "-", cnn})
                                     .out)["summary"]["compression_stats"][2]
        .get<std::int64_t>();
  };
  EXPECT_LT(after("0.01"), after("0.5"));
  const auto bits = [](const std::string& count) {
    return nlohmann::json::parse(run("psgd-replay", {"--hook", "qsgd", "--quantization-bits", count,
                                                     "--quantization-chunk", "0", "--json", "-", cnn})
                                     .out)["summary"]["relative_error"]["mean"]
        .get<double>();
  };
  EXPECT_LT(bits("12"), bits("4"));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--fraction", "0.1"}, "'--fraction' means nothing to --hook powersgd"},
      {{"--hook", "qsgd", "--fraction", "0.1"}, "'--fraction' means nothing to --hook qsgd"},
      {{"--hook", "top-k", "--quantization-bits", "4"}, "'--quantization-bits' means nothing to --hook top-k"},
      {{"--hook", "top-k", "-r", "4"}, "'--matrix-approximation-rank' means nothing to --hook top-k"},
      {{"--hook", "float16", "--warm-start", "on"}, "'--warm-start' means nothing to --hook float16"},
      {{"--hook", "top-k", "--fraction", "0"}, "(0, 1]"},
      {{"--hook", "top-k", "--fraction", "2"}, "'--fraction'"},
      {{"--hook", "qsgd", "--quantization-bits", "17"}, "'--quantization-bits'"},
  };
  for (const auto& [arguments, expected] : cases) {
    std::vector<std::string> all = arguments;
    all.push_back(cnn);
    const Outcome outcome = run("psgd-replay", all);
    EXPECT_EQ(outcome.code, 2) << expected;
    EXPECT_THAT(outcome.err, HasSubstr(expected));
    EXPECT_EQ(count_lines(outcome.err), 1U);
  }
}

}  // namespace
}  // namespace psgd::test
