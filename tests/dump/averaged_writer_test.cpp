#include "libpsgd/dump/averaged_writer.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "tests/dump/dump_maker.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump {
namespace {

using test::parameter;
using testing::HasSubstr;
namespace fs = std::filesystem;

class AveragedWriters : public testing::Test {
 protected:
  AveragedWriters() {
    std::vector<std::size_t> all(parameters_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].bucket = i < 3 ? 1 : 0;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (i == 3) offset = 0;
      parameters_[i].offset = offset;
      offset += numel(parameters_[i].shape);
    }
    layout_ = layout_gradients(parameters_, all);
  }

  // Memory as a hook leaves it, every tensor's elements numbered in logical order.
  template <class T>
  std::vector<T> memory(T first) const {
    std::vector<T> values(static_cast<std::size_t>(layout_.extent), T{-1});
    for (const Bucket& bucket : layout_.buckets) {
      for (const TensorSlot& slot : bucket.tensors) {
        for (std::int64_t i = 0; i < slot.numel; ++i) {
          values[static_cast<std::size_t>(slot.begin + i)] =
              first + static_cast<T>(test::logical_index(parameters_[slot.parameter], i));
        }
      }
    }
    return values;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path())) names.push_back(entry.path().filename());
    return names;
  }

  test::TemporaryDirectory directory_;
  fs::path path_ = directory_ / "out.h5";
  std::vector<Parameter> parameters_{parameter("conv", {6, 3, 5, 5}, DType::float32, MemoryFormat::channels_last),
                                     parameter("wide", {3, 40, 50, 60}, DType::float32, MemoryFormat::channels_last),
                                     parameter("fc/weight", {7, 9}), parameter("bias", {4}),
                                     parameter("empty", {0, 2})};
  GradientLayout layout_;
};

template <class T>
void expect_numbered(const hdf5::Group& averaged, const std::string& link, Shape shape, std::int64_t steps) {
  shape.insert(shape.begin(), steps);
  std::vector<T> values(static_cast<std::size_t>(numel(shape)));
  averaged.read<T>(link, values, shape);
  const std::size_t each = values.size() / static_cast<std::size_t>(steps);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<T>(i / each * 1000 + i % each)) << link << ", element " << i;
  }
}

TEST_F(AveragedWriters, WriteEveryStepInLogicalOrder) {
  AveragedWriter<double> writer(path_, parameters_, layout_);
  writer.append(5, memory<double>(0));
  writer.append(6, memory<double>(1000));
  EXPECT_FALSE(fs::exists(path_));
  writer.finish();
  EXPECT_THAT(files(), testing::ElementsAre("out.h5"));
  const hdf5::File file = hdf5::File::open(path_);
  EXPECT_EQ(file.read_string("format"), "psgd-averaged");
  EXPECT_EQ(file.read_integer("complete"), 1);
  std::vector<std::int64_t> steps(2);
  file.read<std::int64_t>("steps", steps, {2});
  EXPECT_THAT(steps, testing::ElementsAre(5, 6));
  const hdf5::Group averaged = file.open_group("averaged");
  EXPECT_THAT(averaged.links(), testing::ElementsAre("bias", "conv", "empty", "fc%2Fweight", "wide"));
  expect_numbered<double>(averaged, "conv", parameters_[0].shape, 2);
  expect_numbered<double>(averaged, "wide", parameters_[1].shape, 2);
  expect_numbered<double>(averaged, "fc%2Fweight", parameters_[2].shape, 2);
  expect_numbered<double>(averaged, "bias", parameters_[3].shape, 2);
  EXPECT_EQ(averaged.open_dataset("fc%2Fweight").read_string("name"), "fc/weight");
  EXPECT_EQ(averaged.open_dataset("conv").read_string("memory_format"), "channels_last");
}

TEST_F(AveragedWriters, MarkWhatWasCutShort) {
  AveragedWriter<float> writer(path_, parameters_, layout_);
  writer.append(0, memory<float>(0));
  writer.finish(false);
  const hdf5::File file = hdf5::File::open(path_);
  EXPECT_EQ(file.read_integer("complete"), 0);
  expect_numbered<float>(file.open_group("averaged"), "conv", parameters_[0].shape, 1);
}

TEST_F(AveragedWriters, LeaveTheOldFileUnlessFinished) {
  std::ofstream(path_) << "old";
  {
    AveragedWriter<float> writer(path_, parameters_, layout_);
    writer.append(0, memory<float>(0));
  }
  EXPECT_THAT(files(), testing::ElementsAre("out.h5"));
  EXPECT_EQ(fs::file_size(path_), 3U);
}

TEST_F(AveragedWriters, ReplaceTheFileALinkLeadsToAndKeepItsPermissions) {
  fs::create_directory(directory_ / "deep");
  std::ofstream(directory_ / "deep" / "real.h5") << "old";
  fs::permissions(directory_ / "deep" / "real.h5", fs::perms(0640));
  fs::create_symlink("deep/real.h5", path_);
  AveragedWriter<float> writer(path_, parameters_, layout_);
  writer.append(0, memory<float>(0));
  writer.finish();
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(hdf5::File::open(path_).read_integer("complete"), 1);
  EXPECT_EQ(fs::status(directory_ / "deep" / "real.h5").permissions(), fs::perms(0640));
}

TEST_F(AveragedWriters, RefuseWhatCannotBeWritten) {
  const auto refusal = [&](const fs::path& path) -> std::string {
    try {
      const AveragedWriter<float> writer(path, parameters_, layout_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_THAT(error.what(), testing::StartsWith(path.string()));
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(directory_ / "none" / "out.h5"), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal(directory_.path()), HasSubstr("is a directory"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("only be written to a regular file"));
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(directory_ / "pipe"), HasSubstr("only be written to a regular file"));
  fs::create_symlink("loop", directory_ / "loop");
  EXPECT_THAT(refusal(directory_ / "loop"), HasSubstr("cannot write"));
}

// A limit on the size of files stands in for a full disk.
TEST_F(AveragedWriters, ReportAFullDiskAndKeepTheOldFile) {
  std::ofstream(path_) << "old";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 2 << 20;
  std::string message;
  {
    AveragedWriter<double> writer(path_, parameters_, layout_);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    try {
      for (std::int64_t step = 0; step < 10; ++step) writer.append(step, memory<double>(0));
      writer.finish();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      message = error.what();
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);  // as if the space that the file took were free again
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, testing::AllOf(testing::StartsWith(path_.string()), HasSubstr("File too large")));
  EXPECT_THAT(files(), testing::ElementsAre("out.h5"));
  EXPECT_EQ(fs::file_size(path_), 3U);
}

}  // namespace
}  // namespace psgd::dump
