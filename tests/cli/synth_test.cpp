#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Synth : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  void make(std::vector<std::string> arguments, const std::string& name) const {
    arguments.push_back(path(name));
    const Outcome outcome = run("psgd-synth", arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out + outcome.err, "");
  }

  static void expect_error(const std::vector<std::string>& arguments, int code, const std::string& named) {
    const Outcome outcome = run("psgd-synth", arguments);
    EXPECT_EQ(outcome.code, code) << ::testing::PrintToString(arguments) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("psgd-synth: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(named));
    EXPECT_EQ(count_lines(outcome.err), 1u) << outcome.err;
  }

  TemporaryDirectory folder_;
};

TEST_F(Synth, TheErrorOfARankIsWhatItsSpectrumSays) {
  make({"--shapes", "w:96x80,b:96", "--spectrum", "geometric:0.5", "--spectrum-rank", "6", "--dtype", "float64",
        "--world-size", "2", "--drift", "0", "--steps", "12"},
       "a.h5");
  const Outcome outcome = run("psgd-replay", {"-r", "2", "--use-error-feedback", "off", "--json", "-", path("a.h5")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  const auto columns = document["columns"].get<std::vector<std::string>>();
  const auto column =
      static_cast<std::size_t>(std::find(columns.begin(), columns.end(), "relative_error") - columns.begin());
  // Σ_{i≥2} 4^-i / Σ_i 4^-i over six values; after ten warm-started steps the power iteration has found the subspace.
  const double best = std::sqrt((std::pow(4.0, -2) - std::pow(4.0, -6)) / (1 - std::pow(4.0, -6)));
  const json last = document["records"][document["records"].size() - 2];
  ASSERT_EQ(last[1], "w");
  EXPECT_NEAR(last[column].get<double>(), best, 1e-6 * best);
}

TEST_F(Synth, TheSameOptionsGiveTheSameNumbers) {
  const std::vector<std::string> options{"--shapes", "8x6,7:5", "--world-size", "3", "--steps", "3"};
  std::vector<std::string> threads = options;
  threads.insert(threads.end(), {"--threads", "3"});
  make(options, "a.h5");
  make(threads, "b.h5");
  EXPECT_EQ(read_file(path("a.h5")), read_file(path("b.h5")));
  std::vector<std::string> split = options;
  split.insert(split.end(), {"--per-rank", "on"});
  make(split, "c.h5");
  const auto csv = [&](std::vector<std::string> files) {
    files.insert(files.begin(), {"--csv", "-"});
    return run("psgd-replay", files).out;
  };
  EXPECT_EQ(csv({path("a.h5")}),
            csv({path("c.rank00000-of-00003.h5"), path("c.rank00001-of-00003.h5"), path("c.rank00002-of-00003.h5")}));
}

TEST_F(Synth, LikeTakesADumpsParametersAndBuckets) {
  const std::string real = repository_file("tests/golden/digits-cnn-f32.h5");
  make({"--like", real, "--steps", "1"}, "a.h5");
  const auto parameters = [&](const std::string& file) {
    return json::parse(run("psgd-inspect", {"--json", "-", file}).out)["parameters"].size();
  };
  EXPECT_EQ(parameters(path("a.h5")), parameters(real));
}

TEST_F(Synth, ADumpIsReplacedOnlyWhenItIsItsOwn) {
  make({"--shapes", "4x4", "--steps", "1"}, "a.h5");
  make({"--shapes", "4x4", "--steps", "2"}, "a.h5");
  std::filesystem::copy_file(repository_file("tests/golden/digits-cnn-f32.h5"), path("real.h5"));
  const std::string before = read_file(path("real.h5"));
  expect_error({"--shapes", "4x4", path("real.h5")}, 2, "would replace a recording");
  EXPECT_EQ(read_file(path("real.h5")), before);
}

TEST_F(Synth, AFullDiskLeavesTheOldFileWhereverItStrikes) {
  make({"--shapes", "4x4", "--steps", "1"}, "a.h5");
  const std::string before = read_file(path("a.h5"));
  for (const std::size_t limit : {100U, 3000U, 20'000U, 100'000U, 300'000U, 600'000U}) {
    for (const char* gzip : {"off", "on"}) {
      RunOptions options;
      options.file_size_limit = limit;
      const Outcome outcome =
          run("psgd-synth", {"--shapes", "300x200,200x300,90", "--gzip", gzip, path("a.h5")}, options);
      EXPECT_EQ(outcome.code, 3) << limit;
      EXPECT_THAT(outcome.err, StartsWith("psgd-synth: error: " + path("a.h5") + ": ")) << limit;
      EXPECT_EQ(count_lines(outcome.err), 1u) << outcome.err;
      EXPECT_EQ(read_file(path("a.h5")), before);
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
    }
  }
}

TEST_F(Synth, WrongOptionsAreNamed) {
  const std::string out = path("a.h5");
  expect_error({}, 2, "name one output file");
  expect_error({out, out}, 2, "name one output file");
  expect_error({"--shapes", "4x", out}, 2, "'--shapes'");
  expect_error({"--shapes", "4x-1", out}, 2, "'--shapes'");
  expect_error({"--shapes", "a:4,a:5", out}, 2, "\"a\" stands there twice");
  expect_error({"--shapes", "1099511627776x1099511627776", out}, 3, "");
  expect_error({"--model", "alexnet", out}, 2, "'--model'");
  expect_error({"--model", "lstm", "--shapes", "4x4", out}, 2, "give one of");
  expect_error({"--spectrum", "power:-1", out}, 2, "'--spectrum'");
  expect_error({"--world-size", "0", out}, 2, "'--world-size'");
  expect_error({"--noise", "nan", out}, 2, "'--noise'");
  expect_error({"--like", path("none.h5"), out}, 3, "none.h5");
  expect_error({"--shapes", "4x4", path("none/a.h5")}, 3, "none/a.h5");
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace psgd::test
