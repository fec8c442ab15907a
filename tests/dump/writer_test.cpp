#include "libpsgd/dump/writer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "tests/dump/dump_maker.hpp"
#include "tests/dump/raw_hdf5.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump {
namespace {

using test::parameter;
namespace raw = test::raw;

ErrorKind refusal(const std::filesystem::path& path, WriterOptions options) {
  try {
    const Writer writer(path, std::move(options));
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;
}

TEST(Writer, RefusesOptionsThatDoNotFitTogether) {
  const test::TemporaryDirectory directory;
  WriterOptions sound;
  sound.world_size = 2;
  sound.parameters = {parameter("a", {2})};
  const auto refuses = [&](const std::function<void(WriterOptions&)>& change) {
    WriterOptions options = sound;
    change(options);
    EXPECT_EQ(refusal(directory / "x.h5", options), ErrorKind::usage);
    EXPECT_FALSE(std::filesystem::exists(directory / "x.h5"));
  };
  refuses([](WriterOptions& o) { o.parameters.clear(); });
  refuses([](WriterOptions& o) { o.parameters.push_back(o.parameters[0]); });
  refuses([](WriterOptions& o) { o.parameters[0].name = "a\nb"; });
  refuses([](WriterOptions& o) { o.process_ranks = {2}; });
  refuses([](WriterOptions& o) { o.process_ranks = {-1}; });
  refuses([](WriterOptions& o) { o.process_ranks = {1, 1}; });
  refuses([](WriterOptions& o) { o.world_size = 0; });
  refuses([](WriterOptions& o) {
    o.contiguous_steps = 3;
    o.gzip = 1;
  });
  EXPECT_EQ(refusal(directory / "none" / "x.h5", sound), ErrorKind::input);
}

TEST(Writer, KeepsAnExistingFile) {
  const test::TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("a", {2})};
  test::write_dump(directory / "x.h5", options, {0});
  EXPECT_EQ(refusal(directory / "x.h5", options), ErrorKind::input);
  Reader reader({directory / "x.h5"});
  test::expect_reads_back<float>(reader);
}

TEST(Writer, MarksAFileCompleteOnlyWhenClosed) {
  const test::TemporaryDirectory directory;
  const std::vector<float> values(2);
  WriterOptions options;
  options.parameters = {parameter("a", {2})};
  const auto write = [&](const std::string& name, const std::function<void(Writer&)>& end) {
    Writer writer(directory / name, options);
    writer.append_step<float>(0, std::vector<std::vector<const float*>>{{values.data()}});
    end(writer);
  };
  write("left.h5", [](Writer&) {});
  write("incomplete.h5", [](Writer& writer) { writer.close(false); });
  write("complete.h5", [](Writer& writer) {
    writer.close();
    writer.close();
  });
  EXPECT_FALSE(Reader({directory / "left.h5"}).description().complete);
  EXPECT_FALSE(Reader({directory / "incomplete.h5"}).description().complete);
  EXPECT_TRUE(Reader({directory / "complete.h5"}).description().complete);
}

// The process that writes is killed without a chance to close: what /steps lists is whole.
TEST(Writer, LeavesEveryCompleteStepReadableWhenKilled) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "dump.h5";
  WriterOptions options;
  options.parameters = {parameter("a", {100, 100}), parameter("b", {7})};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::vector<float> a(10000);
    std::vector<float> b(7);
    Writer writer(path, options);
    for (std::int64_t step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<float>(test::value_at(step, 0, 0, static_cast<std::int64_t>(i)));
      for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<float>(test::value_at(step, 0, 1, static_cast<std::int64_t>(i)));
      writer.append_step<float>(step, std::vector<std::vector<const float*>>{{a.data(), b.data()}});
    }
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Reader reader({path});
  EXPECT_EQ(reader.description().steps.size(), 3U);
  EXPECT_FALSE(reader.description().complete);
  test::expect_reads_back<float>(reader);
}

TEST(Writer, FillsWhatIsNotWrittenWithNan) {
  const test::TemporaryDirectory directory;
  for (const bool big_endian : {false, true}) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
      WriterOptions options;
      options.parameters = {parameter("a", {3}, dtype)};
      options.big_endian = big_endian;
      const auto path = directory / (std::string(to_string(dtype)) + (big_endian ? "be" : "le"));
      test::write_dump(path, options, {0});
      raw::modify(path, [&](hid_t file) {
        const hid_t dataset = raw::ok(H5Dopen2(file, "gradients/a", H5P_DEFAULT));
        const hid_t creation = raw::ok(H5Dget_create_plist(dataset));
        if (dtype == DType::bfloat16) {
          std::uint16_t fill = 0;
          raw::ok(H5Pget_fill_value(creation, H5T_NATIVE_UINT16, &fill));
          EXPECT_EQ(fill, 0x7FC0);
        } else {
          double fill = 0;
          raw::ok(H5Pget_fill_value(creation, H5T_NATIVE_DOUBLE, &fill));
          EXPECT_TRUE(std::isnan(fill));
        }
      });
    }
  }
}

}  // namespace
}  // namespace psgd::dump
