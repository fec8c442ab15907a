#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/dump_file.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Inspect : public ::testing::Test {
 protected:
  [[nodiscard]] std::string write(const DumpFile& dump) const {
    std::string path = folder_ / "dump.h5";
    dump.write(path);
    return path;
  }

  static json inspect(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--json", "-"});
    const Outcome outcome = run("psgd-inspect", arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return json::parse(outcome.out);
  }

  /// The value in a parameter's row.
  static json cell(const json& document, const std::string& parameter, const std::string& column) {
    const auto columns = document["columns"].get<std::vector<std::string>>();
    const auto at = std::find(columns.begin(), columns.end(), column) - columns.begin();
    for (const json& row : document["records"]) {
      if (row[0] == parameter) return row[static_cast<std::size_t>(at)];
    }
    return "no such parameter";
  }

  /// The findings of a kind.
  static std::vector<json> findings(const json& document, const std::string& kind) {
    std::vector<json> found;
    for (const json& finding : document["findings"]) {
      if (finding["kind"] == kind) found.push_back(finding);
    }
    return found;
  }

  TemporaryDirectory folder_;
};

TEST_F(Inspect, ARealDump) {
  const json document = inspect({repository_file("tests/golden/digits-cnn-f32.h5")});
  EXPECT_EQ(document["schema"], "psgd-inspect");
  EXPECT_EQ(document["version"], 1);
  EXPECT_EQ(document["complete"], true);
  EXPECT_EQ(document["sound"], true);
  EXPECT_EQ(document["dump"]["world_size"], 2);
  EXPECT_EQ(document["dump"]["process_ranks"], json({0, 1}));
  EXPECT_EQ(document["dump"]["steps"], json({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(document["dump"]["parameters"], 11);
  EXPECT_EQ(document["dump"]["numel"], 53362);
  EXPECT_EQ(document["dump"]["bytes_per_step"], 4 * 53362);
  EXPECT_EQ(document["dump"]["dtype"], "float32");
  EXPECT_EQ(cell(document, "7.weight", "shape"), "[96, 48, 3, 3]");
  EXPECT_EQ(cell(document, "7.weight", "rows"), 96);
  EXPECT_EQ(cell(document, "7.weight", "cols"), 432);
  EXPECT_EQ(cell(document, "7.weight", "non_finite_values"), 0);
  EXPECT_GT(cell(document, "7.weight", "norm_min").get<double>(), 0.1);
  EXPECT_EQ(cell(document, "7.weight", "compressed_rank32"), true);
  EXPECT_EQ(cell(document, "12.weight", "compressed_rank4"), true);
  EXPECT_EQ(cell(document, "12.weight", "compressed_rank8"), false);
}

TEST_F(Inspect, RanksCountAsPyTorchDoes) {
  // From PyTorch's compression_stats() on this dump at rank 2: 6 compressed steps.
  const json document = inspect({"-r", "2", repository_file("tests/golden/digits-cnn-f32.h5")});
  ASSERT_EQ(document["rank_records"].size(), 1u);
  EXPECT_EQ(document["rank_records"][0][2], 320172 / 6);
  EXPECT_EQ(document["rank_records"][0][3], 13248 / 6);
}

TEST_F(Inspect, TheRateDecidesWhatIsCompressed) {
  DumpFile dump;
  dump.parameters = {{"m", {8, 8}}, {"v", {9}}};
  const std::string path = write(dump);
  EXPECT_EQ(cell(inspect({"-r", "2", "--min-compression-rate", "2", path}), "m", "compressed_rank2"), false)
      << "64 < 64";
  EXPECT_EQ(cell(inspect({"-r", "2", "--min-compression-rate", "1.9", path}), "m", "compressed_rank2"), true);
  EXPECT_EQ(cell(inspect({"-r", "2", "--min-compression-rate", "0.5", path}), "v", "compressed_rank2"), true)
      << "a vector is an n x 1 matrix";
}

TEST_F(Inspect, ValuesThatAreNotFiniteAndGradientsThatAreZero) {
  DumpFile dump;
  dump.parameters = {{"bad", {4, 3}}, {"zero", {5}}, {"good", {2, 2}}};
  dump.value = [](std::size_t parameter, std::size_t step, std::size_t process_rank, std::size_t element) {
    if (parameter == 1) return 0.0F;
    if (parameter == 0 && step >= 2 && process_rank == 1 && element < 2) return std::numeric_limits<float>::quiet_NaN();
    if (parameter == 0 && step == 3 && process_rank == 0 && element == 0) return std::numeric_limits<float>::infinity();
    return 1.0F;
  };
  const json document = inspect({write(dump)});
  EXPECT_EQ(document["sound"], false);
  EXPECT_EQ(cell(document, "bad", "non_finite_values"), 5);
  EXPECT_EQ(cell(document, "bad", "first_non_finite_step"), 2);
  EXPECT_EQ(cell(document, "bad", "first_non_finite_process_rank"), 1);
  EXPECT_EQ(cell(document, "zero", "zero_records"), 8);
  EXPECT_EQ(cell(document, "good", "norm_max"), 2.0);
  ASSERT_EQ(findings(document, "non-finite-input").size(), 1u);
  EXPECT_EQ(findings(document, "non-finite-input")[0]["parameter"], "bad");
  EXPECT_EQ(findings(document, "non-finite-input")[0]["severity"], "problem");
  ASSERT_EQ(findings(document, "zero-gradient").size(), 1u);
  EXPECT_EQ(findings(document, "zero-gradient")[0]["severity"], "note");
}

TEST_F(Inspect, NormsOfVeryLargeAndVerySmallValues) {
  DumpFile dump;
  dump.parameters = {{"large", {4}}, {"small", {4}}};
  dump.value = [](std::size_t parameter, std::size_t, std::size_t, std::size_t) {
    return parameter == 0 ? 2e38F : 1e-40F;
  };
  const json document = inspect({write(dump)});
  EXPECT_NEAR(cell(document, "large", "norm_max").get<double>() / 4e38, 1, 1e-6);
  EXPECT_NEAR(cell(document, "small", "norm_max").get<double>() / 2e-40, 1, 1e-4);
  EXPECT_EQ(document["sound"], true);
}

TEST_F(Inspect, StepsWithGaps) {
  DumpFile dump;
  dump.steps = {0, 10, 20, 50, 60};
  const json document = inspect({write(dump)});
  EXPECT_EQ(document["dump"]["step_stride"], 10);
  EXPECT_EQ(document["dump"]["step_gaps"], json::parse(R"([{"after": 20, "before": 50}])"));
  EXPECT_EQ(findings(document, "step-gaps").size(), 2u);
  EXPECT_EQ(document["sound"], false);
}

TEST_F(Inspect, ProcessRanksThatAreMissing) {
  DumpFile dump;
  dump.world_size = 4;
  dump.process_ranks = {1, 3};
  const json document = inspect({write(dump)});
  EXPECT_EQ(document["dump"]["missing_process_ranks"], json({0, 2}));
  EXPECT_EQ(findings(document, "missing-process-ranks").size(), 1u);
}

TEST_F(Inspect, ARecordingThatWasNotClosed) {
  DumpFile dump;
  dump.complete = false;
  const json document = inspect({write(dump)});
  EXPECT_EQ(document["complete"], true) << "the inspection is";
  EXPECT_EQ(document["dump"]["complete"], false);
  EXPECT_EQ(findings(document, "incomplete-dump").size(), 1u);
}

TEST_F(Inspect, AZeroDimensionalParameterIsShownAndNamed) {
  DumpFile dump;
  dump.parameters = {{"w", {4, 4}}, {"temperature", {}}};
  const json document = inspect({write(dump)});
  EXPECT_EQ(cell(document, "temperature", "rows"), nullptr);
  ASSERT_EQ(findings(document, "zero-dimensional").size(), 1u);
  EXPECT_THAT(findings(document, "zero-dimensional")[0]["text"].get<std::string>(), HasSubstr("--exclude"));
}

TEST_F(Inspect, WithoutDataThereAreNoNorms) {
  const json document = inspect({"--no-data", repository_file("tests/golden/char-lstm-f64.h5")});
  EXPECT_EQ(document["config"]["no_data"], true);
  EXPECT_EQ(cell(document, "tok.weight", "norm_min"), nullptr);
  EXPECT_EQ(cell(document, "tok.weight", "non_finite_values"), nullptr);
  EXPECT_EQ(cell(document, "tok.weight", "compressed_rank1"), true);
}

TEST_F(Inspect, TheTableNamesEveryParameter) {
  const Outcome outcome = run("psgd-inspect", {repository_file("tests/golden/digits-cnn-f32.h5")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"Process ranks  2 of 2", "Steps          8, from 0 to 7", "Sound          yes", "12.weight",
                           "[48, 24, 3, 3]", "No findings."}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST_F(Inspect, LongNamesAreShownWhole) {
  DumpFile dump;
  const std::string name = std::string(200, 'n') + ".größe";
  dump.parameters = {{name, {3, 3}}};
  const std::string path = write(dump);
  EXPECT_THAT(run("psgd-inspect", {path}).out, HasSubstr("\n" + name + "  [3, 3]"));
  EXPECT_EQ(inspect({path})["records"][0][0], name);
}

TEST_F(Inspect, AMessageAboutADumpIsOneLine) {
  DumpFile dump;
  dump.parameters = {{"a\x1b[2J\nb", {3, 3}}};
  const Outcome outcome = run("psgd-inspect", {write(dump)});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(count_lines(outcome.err), 1u);
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
}

TEST_F(Inspect, AThousandParametersAreAThousandRows) {
  DumpFile dump;
  dump.steps = {0, 1};
  dump.parameters.clear();
  for (int i = 0; i < 1000; ++i) dump.parameters.push_back({"layer" + std::to_string(i) + ".weight", {3, 2}});
  const std::string path = write(dump);
  const Outcome outcome = run("psgd-inspect", {"--csv", folder_ / "a.csv", path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_lines(read_file(folder_ / "a.csv")), 1001u);
  EXPECT_GT(count_lines(outcome.out), 1000u);
}

}  // namespace
}  // namespace psgd::test
