#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string dump = repository_file("tests/golden/digits-cnn-f32.h5");

/// Every program keeps these.
class Options : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] Outcome run_with(const std::vector<std::string>& arguments) const { return run(GetParam(), arguments); }

  /// Exit code 2 and one line that names what is wrong; nothing on standard output.
  void expect_usage_error(const std::vector<std::string>& arguments, const std::string& named) const {
    const Outcome outcome = run_with(arguments);
    EXPECT_EQ(outcome.code, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith(GetParam() + ": error: "));
    EXPECT_THAT(outcome.err, HasSubstr(named));
    EXPECT_EQ(count_lines(outcome.err), 1u) << outcome.err;
  }

  TemporaryDirectory folder_;
};

TEST_P(Options, HelpIsGroupedAndComplete) {
  for (const char* option : {"--help", "-h"}) {
    const Outcome outcome = run_with({option});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, StartsWith("Usage: " + GetParam() + " [options] DUMP.h5"));
    for (const char* expected : {"\nGeneral:\n", "\nRunning:\n", "\nInput:\n", "\nResults:\n", "--config FILE",
                                 "--threads N", "--progress auto|on|off", "--json FILE", "--csv FILE", "--quiet",
                                 "--log-level", "(default: auto)", "Exit codes: 0 done", "--memory-limit SIZE"}) {
      EXPECT_THAT(outcome.out, HasSubstr(expected));
    }
  }
}

TEST_P(Options, VersionIsOneLine) {
  const Outcome outcome = run_with({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, GetParam() + " " PSGD_VERSION "\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_P(Options, HelpThatCannotBeWrittenIsAnError) {
  RunOptions options;
  options.output_path = "/dev/full";
  const Outcome outcome = run(GetParam(), {"--help"}, options);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, GetParam() + ": error: standard output: cannot write: No space left on device\n");
}

TEST_P(Options, NoDumpIsAUsageError) { expect_usage_error({}, "no dump was named"); }

TEST_P(Options, UnknownOptionsAndPrefixesAreRefused) {
  expect_usage_error({"--no-such-option", dump}, "'--no-such-option'");
  expect_usage_error({"--thread", "1", dump}, "'--thread'");
  expect_usage_error({"--matrix-approximation", "1", dump}, "'--matrix-approximation'");
  expect_usage_error({"--vers", dump}, "'--vers'");
  expect_usage_error({"-x", dump}, "'-x'");
}

TEST_P(Options, OptionsGivenTwiceAreRefused) {
  expect_usage_error({"--threads", "1", "--threads", "2", dump}, "'--threads'");
  expect_usage_error({"-r", "1", "--matrix-approximation-rank=1", dump}, "'--matrix-approximation-rank'");
  expect_usage_error({"--quiet", "--quiet", dump}, "'--quiet'");
}

TEST_P(Options, MissingAndSuperfluousValuesAreRefused) {
  expect_usage_error({dump, "--threads"}, "'--threads'");
  expect_usage_error({"--json=", dump}, "'--json'");
  expect_usage_error({"--json", "", dump}, "'--json'");
  expect_usage_error({"--version=1"}, "'--version'");
}

TEST_P(Options, BadValuesAreRefusedNamingTheOption) {
  for (const char* value : {"0", "-1", "two", "1.5", "", "99999999999999999999", "1 ", "0x2"}) {
    expect_usage_error({std::string("--threads=") + value, dump}, "'--threads'");
  }
  expect_usage_error({"--threads", "-1", dump}, "'--threads'");
  expect_usage_error({"--progress", "sometimes", dump}, "option '--progress': 'sometimes' is not auto, on or off");
  expect_usage_error({"--log-level", "loud", dump}, "'--log-level'");
  expect_usage_error({"--quiet=off", dump}, "'--quiet'");
  expect_usage_error({"--min-compression-rate", "-1", dump}, "'--min-compression-rate'");
  expect_usage_error({"--min-compression-rate", "nan", dump}, "'--min-compression-rate'");
  expect_usage_error({"--memory-limit", "4 G", dump}, "'--memory-limit'");
  expect_usage_error({"--memory-limit", "0", dump}, "'--memory-limit'");
}

TEST_P(Options, AMessageIsOneLineWhateverItQuotes) {
  const Outcome outcome = run_with({"--progress", "a\nb\x1b[31m", dump});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, GetParam() + ": error: option '--progress': 'a\\nb\\x1b[31m' is not auto, on or off\n");
}

TEST_P(Options, AConfigurationFileGivesOptionsAndTheCommandLineWins) {
  const std::string config = folder_ / "config";
  write_file(config, "# a comment\nmatrix-approximation-rank = 3\nmin-compression-rate = 1.5  # another\nquiet = on\n");
  const Outcome outcome = run_with({"--config", config, "--matrix-approximation-rank", "2", "--json", "-", dump});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json config_used = nlohmann::json::parse(outcome.out)["config"];
  // A knob of psgd-inspect and psgd-sweep may be a list.
  EXPECT_THAT(config_used["min_compression_rate"].dump(), ::testing::AnyOf("1.5", "[1.5]"));
  EXPECT_EQ(config_used["quiet"], true);
  EXPECT_THAT(config_used["matrix_approximation_rank"].dump(), ::testing::AnyOf("2", "[2]"));
}

TEST_P(Options, AConfigurationFileIsReadAsStrictly) {
  const std::string config = folder_ / "config";
  const auto expect_error = [&](const std::string& text, const std::string& named) {
    write_file(config, text);
    expect_usage_error({"--config", config, dump}, named);
    expect_usage_error({"--config", config, dump}, config + ": ");
  };
  expect_error("no-such-key = 1\n", "'no-such-key'");
  expect_error("matrix-approximation = 1\n", "'matrix-approximation'");
  expect_error("threads = 1\nthreads = 2\n", "'threads'");
  expect_error("quiet = perhaps\n", "option '--quiet': 'perhaps' is neither on nor off");
  expect_error("threads = many\n", "option '--threads': 'many' is not an integer");
  expect_error("just words\n", "just words");
  expect_error("config = other\n", "'config'");
  expect_error("help = on\n", "'help'");
}

TEST_P(Options, AConfigurationFileThatCannotBeReadIsAnInputError) {
  for (const std::string& path : {std::string(folder_ / "none"), folder_.path().string()}) {
    const Outcome outcome = run_with({"--config", path, dump});
    EXPECT_EQ(outcome.code, 3);
    EXPECT_THAT(outcome.err, StartsWith(GetParam() + ": error: " + path + ": cannot read the configuration file"));
    EXPECT_EQ(count_lines(outcome.err), 1u);
  }
}

TEST_P(Options, WhatFollowsTwoDashesIsAFile) {
  RunOptions options;
  options.directory = folder_.path();
  const Outcome outcome = run(GetParam(), {"--", "--help"}, options);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, StartsWith(GetParam() + ": error: --help: "));
}

INSTANTIATE_TEST_SUITE_P(EveryProgram, Options,
                         ::testing::Values("psgd-inspect", "psgd-ortho", "psgd-replay", "psgd-sweep"),
                         [](const auto& program) { return program.param.substr(5); });

}  // namespace
}  // namespace psgd::test
