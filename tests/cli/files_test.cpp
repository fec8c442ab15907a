#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string dump = repository_file("tests/golden/digits-cnn-f32.h5");

/// What every program does with the files it reads and writes.
class Files : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path().filename().string());
    return found;
  }

  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& start,
                    const RunOptions& options = {}) const {
    const Outcome outcome = run(GetParam(), arguments, options);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith(GetParam() + ": error: " + start));
    EXPECT_EQ(count_lines(outcome.err), 1u) << outcome.err;
  }

  TemporaryDirectory folder_;
};

TEST_P(Files, InputThatIsNoDump) {
  write_file(path("text.h5"), "this is no HDF5 file\n");
  write_file(path("empty.h5"), "");
  const std::string whole = read_file(dump);
  write_file(path("cut.h5"), whole.substr(0, whole.size() / 2));
  write_file(path("new\nline\x1b.h5"), "");
  for (const char* name : {"text.h5", "empty.h5", "cut.h5", "none.h5"})
    expect_error({path(name)}, 3, path(name) + ": ");
  expect_error({path("new\nline\x1b.h5")}, 3, path("new\\nline\\x1b.h5") + ": ");
  expect_error({folder_.path()}, 3, folder_.path().string() + ": ");
  expect_error({dump, path("none.h5")}, 3, path("none.h5") + ": ");
}

TEST_P(Files, ResultsAppearUnderTheirNamesAndTheTableStays) {
  const Outcome outcome = run(GetParam(), {"--json", path("a.json"), "--csv", path("a.csv"), dump});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("7.weight"));
  EXPECT_EQ(nlohmann::json::parse(read_file(path("a.json")))["schema"], GetParam());
  EXPECT_THAT(read_file(path("a.csv")), HasSubstr("7.weight,"));
  EXPECT_THAT(names(), ::testing::UnorderedElementsAre("a.json", "a.csv"));
}

TEST_P(Files, StandardOutputTakesTheTablesPlace) {
  const Outcome json = run(GetParam(), {"--json", "-", dump});
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(nlohmann::json::parse(json.out)["schema"], GetParam());
  const Outcome csv = run(GetParam(), {"--csv", "/dev/stdout", dump});
  EXPECT_EQ(csv.code, 0);
  EXPECT_THAT(csv.out, HasSubstr("parameter,"));
  EXPECT_THAT(csv.out, ::testing::Not(HasSubstr("Parameters")));
}

TEST_P(Files, AnAppendedLogIsNotOverwritten) {
  write_file(path("log"), "before\n");
  // Standard output without O_TRUNC begins at the file's start, as > after an earlier program's output would not; what
  // matters is that /dev/stdout is not opened anew and renamed over.
  RunOptions options;
  options.output_path = path("log");
  const Outcome outcome = run(GetParam(), {"--json", "/dev/stdout", dump}, options);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(nlohmann::json::parse(read_file(path("log")))["schema"], GetParam());
  EXPECT_THAT(names(), ::testing::ElementsAre("log"));
}

TEST_P(Files, OutputThatCannotBeWrittenIsSaidAtOnce) {
  expect_error({"--json", path("none/a.json"), dump}, 3, path("none/a.json") + ": cannot write: directory ");
  expect_error({"--csv", folder_.path(), dump}, 3, folder_.path().string() + ": cannot write: it is a directory");
  expect_error({"--json", "/proc/none/x", dump}, 3, "/proc/none/x: cannot write: ");
  EXPECT_TRUE(names().empty());
}

TEST_P(Files, AFullDeviceIsAnError) {
  RunOptions options;
  options.output_path = "/dev/full";
  expect_error({dump}, 3, "standard output: cannot write: No space left on device", options);
  const Outcome outcome = run(GetParam(), {"--json", "/dev/full", dump});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, GetParam() + ": error: /dev/full: cannot write: No space left on device\n");
}

TEST_P(Files, AFullDiskLeavesTheOldFile) {
  write_file(path("a.json"), "old");
  RunOptions options;
  options.file_size_limit = 500;
  const Outcome outcome = run(GetParam(), {"--json", path("a.json"), dump}, options);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, StartsWith(GetParam() + ": error: " + path("a.json") + ": cannot write: "));
  EXPECT_EQ(count_lines(outcome.err), 1u);
  EXPECT_EQ(read_file(path("a.json")), "old");
  EXPECT_THAT(names(), ::testing::ElementsAre("a.json"));
}

TEST_P(Files, ALinksTargetIsReplacedAndTheLinkStays) {
  fs::create_directory(path("sub"));
  write_file(path("sub/real"), "old");
  fs::create_symlink("sub/real", path("link"));
  EXPECT_EQ(run(GetParam(), {"--json", path("link"), dump}).code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(nlohmann::json::parse(read_file(path("sub/real")))["schema"], GetParam());
}

TEST_P(Files, AFifoIsWrittenDirectly) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read_file(path("fifo")); });
  const Outcome outcome = run(GetParam(), {"--json", path("fifo"), dump});
  reader.join();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(received)["schema"], GetParam());
  EXPECT_THAT(names(), ::testing::ElementsAre("fifo"));
}

TEST_P(Files, WaitingForAFifosReaderCanBeInterrupted) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  Running program(GetParam(), {"--json", path("fifo"), "--csv", path("a.csv"), dump});
  // It has no way to tell that it waits; a signal that comes before the wait is noticed too late, so the second one
  // counts.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  program.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  program.signal(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(names(), ::testing::ElementsAre("fifo"));
}

TEST_P(Files, APipeClosedEarlyIsNoError) {
  RunOptions options;
  options.close_reader = true;
  const Outcome outcome = run(GetParam(), {"--csv", path("a.csv"), dump}, options);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(read_file(path("a.csv")), HasSubstr("7.weight")) << "the other results are written all the same";
}

TEST_P(Files, AClosedStandardOutputIsAnErrorAndNoOtherFileTakesItsPlace) {
  RunOptions options;
  options.close_output = true;
  const Outcome outcome = run(GetParam(), {"--json", path("a.json"), dump}, options);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, GetParam() + ": error: standard output: cannot write: Bad file descriptor\n");
}

TEST_P(Files, TwoOutputsInOneFileAreRefused) {
  expect_error({"--json", "-", "--csv", "-", dump}, 2, "--json and --csv name the same file");
  expect_error({"--json", "/dev/stdout", "--csv", "-", dump}, 2, "--json and --csv name the same file");
  expect_error({"--json", path("a"), "--csv", folder_.path().string() + "/./a", dump}, 2,
               "--json and --csv name the same file");
  write_file(path("real"), "old");
  fs::create_symlink("real", path("link"));
  expect_error({"--json", path("real"), "--csv", path("link"), dump}, 2, "--json and --csv name the same file");
  EXPECT_EQ(read_file(path("real")), "old");
  EXPECT_EQ(run(GetParam(), {"--json", "/dev/null", "--csv", "/dev/null", dump}).code, 0);
}

TEST_P(Files, ADumpIsNotOverwritten) {
  fs::copy_file(dump, path("dump.h5"));
  fs::permissions(path("dump.h5"), fs::perms::owner_all);
  fs::create_symlink("dump.h5", path("link.h5"));
  expect_error({"--json", path("dump.h5"), path("dump.h5")}, 2,
               "--json " + path("dump.h5") + ": this is a file to read from");
  expect_error({"--csv", path("link.h5"), path("dump.h5")}, 2,
               "--csv " + path("link.h5") + ": this is a file to read from");
  EXPECT_EQ(read_file(path("dump.h5")), read_file(dump));
}

INSTANTIATE_TEST_SUITE_P(EveryProgram, Files, ::testing::Values("psgd-inspect", "psgd-replay"),
                         [](const auto& program) { return program.param.substr(5); });

}  // namespace
}  // namespace psgd::test
