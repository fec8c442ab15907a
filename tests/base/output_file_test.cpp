#include "libpsgd/base/output_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "libpsgd/base/error.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path().filename().string());
    return found;
  }

  static void put(const std::string& file, const std::string& text) { std::ofstream(file) << text; }
  static std::string get(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static mode_t mode_of(const std::string& file) {
    struct stat status {};
    EXPECT_EQ(stat(file.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  test::TemporaryDirectory folder_;
};

std::string error_of(const std::string& path) {
  try {
    OutputFile file(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

TEST_F(OutputFileTest, ANewFileAppearsAtCommitWithTheUmasksMode) {
  const mode_t old_mask = umask(027);
  OutputFile file(path("new"));
  file.write("hello ");
  EXPECT_FALSE(fs::exists(path("new")));
  file.write("world");
  file.commit();
  umask(old_mask);
  EXPECT_EQ(get(path("new")), "hello world");
  EXPECT_EQ(mode_of(path("new")), 0640u);
  EXPECT_THAT(names(), ::testing::ElementsAre("new"));
}

TEST_F(OutputFileTest, TheTemporaryIsNamedAsDocumented) {
  const OutputFile file(path("name.json"));
  EXPECT_THAT(names(), ::testing::ElementsAre(::testing::MatchesRegex("\\.name\\.json\\." + std::to_string(getpid()) +
                                                                      "-[0-9]+\\.psgd-tmp")));
  EXPECT_EQ(fs::path(file.writable_path()).filename(), names().front());
}

TEST_F(OutputFileTest, WithoutCommitTheOldFileStaysAndNothingElse) {
  put(path("old"), "old");
  {
    OutputFile file(path("old"));
    file.write(std::string(200'000, 'x'));
  }
  EXPECT_EQ(get(path("old")), "old");
  EXPECT_THAT(names(), ::testing::ElementsAre("old"));
}

TEST_F(OutputFileTest, AReplacedFileKeepsItsMode) {
  put(path("old"), "old");
  chmod(path("old").c_str(), 0604);
  OutputFile file(path("old"));
  file.write("new");
  file.commit();
  EXPECT_EQ(get(path("old")), "new");
  EXPECT_EQ(mode_of(path("old")), 0604u);
}

TEST_F(OutputFileTest, LinksAreFollowedAndStay) {
  fs::create_directory(folder_ / "sub");
  put(path("sub/real"), "old");
  fs::create_symlink("sub/real", folder_ / "link");
  fs::create_symlink("link", folder_ / "link2");
  OutputFile file(path("link2"));
  file.write("new");
  file.commit();
  EXPECT_EQ(get(path("sub/real")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("link2")));
}

TEST_F(OutputFileTest, ADanglingLinkGetsItsTarget) {
  fs::create_symlink("target", folder_ / "link");
  OutputFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_EQ(get(path("target")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
}

TEST_F(OutputFileTest, PathsThatCannotBeWrittenSayWhy) {
  fs::create_directory(folder_ / "dir");
  put(path("file"), "");
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(error_of(path("dir")), path("dir") + ": cannot write: it is a directory");
  EXPECT_EQ(error_of(path("none/file")),
            path("none/file") + ": cannot write: directory " + path("none") + ": No such file or directory");
  EXPECT_EQ(error_of(path("file/x")), path("file/x") + ": cannot write: Not a directory");
  EXPECT_EQ(error_of(path("new/")), path("new/") + ": cannot write: it names a directory");
  EXPECT_EQ(error_of(path("loop")), path("loop") + ": cannot write: Too many levels of symbolic links");
  EXPECT_EQ(error_of(""), "cannot write to a file with an empty name");
}

TEST_F(OutputFileTest, AWriteProtectedFileStays) {
  put(path("protected"), "old");
  chmod(path("protected").c_str(), 0444);
  chmod(folder_.path().c_str(), 0777);
  // Root may write everywhere, so another user tries.
  const auto program = [&] {
    constexpr uid_t nobody = 65534;
    if (geteuid() == 0 && setuid(nobody) != 0) _exit(2);
    _exit(error_of(path("protected")) == path("protected") + ": cannot write: Permission denied" ? 42 : 1);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(42), "");
  EXPECT_EQ(get(path("protected")), "old");
}

TEST_F(OutputFileTest, TheLongestPossibleNameWorks) {
  const std::string name(255, 'n');
  OutputFile file(path(name));
  file.write("x");
  file.commit();
  EXPECT_EQ(get(path(name)), "x");
}

TEST_F(OutputFileTest, AFullDeviceIsAnErrorAtCommitOrBefore) {
  OutputFile file("/dev/full");
  EXPECT_TRUE(file.is_direct());
  file.write("x");
  try {
    file.commit();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/dev/full: cannot write: No space left on device");
  }
}

TEST_F(OutputFileTest, ADiskThatFillsUpLeavesTheOldFile) {
  put(path("old"), "old");
  // A limit on file sizes stands in for the full disk: write() comes up short, then fails.
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 100'000;
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THROW(
      {
        OutputFile file(path("old"));
        file.write(std::string(300'000, 'x'));
        file.commit();
      },
      Error);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_EQ(get(path("old")), "old");
  EXPECT_THAT(names(), ::testing::ElementsAre("old"));
}

TEST_F(OutputFileTest, AFifoIsWrittenDirectly) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = get(path("fifo")); });
  {
    OutputFile file(path("fifo"));
    EXPECT_TRUE(file.is_direct());
    file.write("through");
    file.commit();
  }
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_THAT(names(), ::testing::ElementsAre("fifo"));
}

TEST_F(OutputFileTest, AReaderThatWentAwayIsNoError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  OutputFile file("/dev/fd/" + std::to_string(ends[1]));
  file.write(std::string(1'000'000, 'x'));
  file.commit();
  std::signal(SIGPIPE, previous);
  close(ends[1]);
}

TEST_F(OutputFileTest, AnOpenDescriptorGoesOnWhereItStands) {
  const int descriptor = open(path("log").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(write(descriptor, "first ", 6), 6);
  fs::create_symlink("/proc/self/fd/" + std::to_string(descriptor), folder_ / "link");
  OutputFile file(path("link"));
  file.write("second");
  file.commit();
  EXPECT_EQ(write(descriptor, " third", 6), 6) << "the descriptor stays open";
  close(descriptor);
  EXPECT_EQ(get(path("log")), "first second third");
}

TEST_F(OutputFileTest, AnotherLibraryMayWriteByName) {
  OutputFile file(path("data.h5"));
  put(file.writable_path(), "binary");
  EXPECT_FALSE(fs::exists(path("data.h5")));
  file.commit();
  EXPECT_EQ(get(path("data.h5")), "binary");
}

TEST_F(OutputFileTest, MovedFilesAreCommittedOnce) {
  std::vector<OutputFile> files;
  files.emplace_back(path("a"));
  files.emplace_back(path("b"));
  OutputFile moved = std::move(files[0]);
  moved.write("a");
  moved.commit();
  files.clear();
  EXPECT_THAT(names(), ::testing::ElementsAre("a"));
}

}  // namespace
}  // namespace psgd
