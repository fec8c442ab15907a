#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace psgd::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string digits() { return repository_file("datasets/digits-vit.h5"); }

nlohmann::json ortho_json(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--repetitions", "1", "--json", "-"});
  const Outcome outcome = run("psgd-ortho", arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

void expect_error(const std::vector<std::string>& arguments, int code, const std::string& expected) {
  const Outcome outcome = run("psgd-ortho", arguments);
  EXPECT_EQ(outcome.code, code) << expected;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("psgd-ortho: error: "));
  EXPECT_THAT(outcome.err, HasSubstr(expected));
  EXPECT_EQ(count_lines(outcome.err), 1U);
}

TEST(Ortho, JsonHasWhatTheContractSays) {
  const auto json = ortho_json({"--shapes", "200x4,100x2x3", "--methods", "householder,cholesky-qr2"});
  EXPECT_EQ(json["schema"], "psgd-ortho");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["complete"], true);
  const std::vector<std::string> columns = json["columns"];
  for (const char* name : {"method", "rows", "cols", "batch", "dtype", "input", "seconds", "seconds_spread",
                           "orthogonality", "residual"}) {
    EXPECT_THAT(columns, ::testing::Contains(name));
  }
  EXPECT_EQ(json["records"].size(), 2U * 2U * 8U);
  for (const auto& record : json["records"]) EXPECT_EQ(record.size(), columns.size());
  EXPECT_TRUE(json["advice"]["recommended"].is_string());
  EXPECT_FALSE(json["advice"]["reasons"].empty());
  EXPECT_EQ(json["config"]["shapes"], nlohmann::json({"200x4", "100x2x3"}));
}

TEST(Ortho, WhatIsNotFiniteIsNull) {
  const auto json = ortho_json({"--shapes", "50x2", "--methods", "gram-schmidt", "--inputs", "zero-column"});
  const std::vector<std::string> columns = json["columns"];
  const auto at = std::find(columns.begin(), columns.end(), "orthogonality") - columns.begin();
  EXPECT_TRUE(json["records"][0][static_cast<std::size_t>(at)].is_null());
  EXPECT_TRUE(json["advice"]["recommended"].is_null());
}

TEST(Ortho, ADumpIsReplayedAtEveryRank) {
  const auto json =
      ortho_json({"-r", "2,4", "--methods", "gram-schmidt,householder", "--inputs", "replay-p,replay-q", digits()});
  EXPECT_EQ(json["advice"]["steps"].size(), 2U);
  EXPECT_EQ(json["advice"]["shares"].size(), 4U);
  EXPECT_EQ(json["advice"]["steps"][1]["rank"], 4);
}

TEST(Ortho, CsvHasARowARecord) {
  const Outcome outcome = run("psgd-ortho", {"--shapes", "60x3", "--methods", "tsqr", "--inputs", "random,zero-column",
                                             "--repetitions", "1", "--csv", "-"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("method,rows,cols,batch,dtype,input,rank,seconds,seconds_spread,"));
  EXPECT_EQ(count_lines(outcome.out), 3U);
}

TEST(Ortho, TextAdvisesWithReasons) {
  const Outcome outcome = run("psgd-ortho", {"--shapes", "300x4", "--repetitions", "1", "--progress", "off"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("condition-1e7"));
  EXPECT_THAT(outcome.out, HasSubstr("not finite"));
  EXPECT_THAT(outcome.out, HasSubstr("is the fastest method that stayed within"));
}

TEST(Ortho, AFileOfShapesIsRead) {
  const auto folder = std::filesystem::temp_directory_path() / ("psgd-ortho-test-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "shapes";
  write_file(path, "# layers\n 70x2 \n\n80x3x2 # two of them\r\n");
  const auto json = ortho_json({"--shapes-file", path, "--methods", "householder", "--inputs", "random"});
  ASSERT_EQ(json["records"].size(), 2U);
  EXPECT_EQ(json["records"][1][3], 2);
  write_file(path, "70x2\n70by2\n");
  expect_error({"--shapes-file", path}, 3, path + ": line 2: '70by2' is not ROWSxCOLS");
  write_file(path, "2x70\n");
  expect_error({"--shapes-file", path}, 3, path + ": line 1: '2x70' has more columns than rows");
  write_file(path, "# nothing\n");
  expect_error({"--shapes-file", path}, 3, path + ": holds no shape");
  expect_error({"--shapes-file", folder / "none"}, 3, "none: cannot be read");
  expect_error({"--shapes-file", folder}, 3, "cannot be read");
  std::filesystem::remove_all(folder);
}

TEST(Ortho, BadInputIsNamed) {
  expect_error({}, 2, "no dump was named, nor --shapes given");
  expect_error({"--shapes", "4x8"}, 2, "'4x8' has more columns than rows");
  expect_error({"--shapes", "0x0"}, 2, "'0x0' has no elements");
  expect_error({"--shapes", "8x0"}, 2, "'8x0' has no elements");
  expect_error({"--shapes", "8"}, 2, "'8' is not ROWSxCOLS");
  expect_error({"--shapes", "8x-1"}, 2, "'8x-1' is not ROWSxCOLS");
  expect_error({"--shapes", "99999999999x2"}, 2, "99999999999 is not between");
  expect_error({"--shapes", "2000000000x2000000000"}, 2, "more elements than can be tried");
  expect_error({"--shapes", "8x2", "--methods", "zip"}, 2, "'zip' is not gram-schmidt, cgs2, householder");
  expect_error({"--shapes", "8x2", "--inputs", "zip"}, 2, "'zip' is not random");
  expect_error({"--shapes", "8x2", "--inputs", "replay-p"}, 2, "input replay-p needs a dump");
  expect_error({"--shapes", "8x2", "-r", "4"}, 2, "--matrix-approximation-rank needs a dump");
  expect_error({"--shapes", "8x2", "--repetitions", "0"}, 2, "'--repetitions'");
  expect_error({"-r", "16", digits()}, 3, "no tensor is compressed in the last step at rank 16");
  expect_error({"no-such.h5"}, 3, "no-such.h5");
}

}  // namespace
}  // namespace psgd::test
