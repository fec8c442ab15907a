#include "libpsgd/dump/step_stream.hpp"

#include <chrono>
#include <cstdint>
#include <thread>

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

class StepStreams : public testing::TestWithParam<std::size_t> {
 protected:
  void write(std::int64_t steps, int gzip = 0) {
    WriterOptions options;
    options.world_size = 3;
    options.parameters = {parameter("conv", {8, 3, 5, 5}, DType::float32, MemoryFormat::channels_last),
                          parameter("fc", {30, 7}), parameter("bias", {3})};
    options.gzip = gzip;
    options.durable = false;
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < steps; ++i) numbers.push_back(2 * i);
    test::write_dump(path_, options, numbers);
  }

  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "dump.h5";
};

TEST_P(StepStreams, GivesTheStepsInTheOrderAskedFor) {
  write(12, 1);
  Reader reader({path_}, {0, false, 2});
  const Description& description = reader.description();
  const GradientLayout layout = test::layout_all(description);
  const std::vector<std::size_t> order{3, 0, 11, 5, 5, 7, 1};
  const std::vector<std::int64_t> ranks{2, 0};
  StepStream<float> stream(reader, order, ranks, layout, GetParam());
  for (const std::size_t index : order) {
    const StepData<float>* data = stream.next();
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(data->step_index, index);
    ASSERT_EQ(data->gradients.size(), 2U);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data->gradients[i]) % 64, 0U);
      test::expect_values(description, layout, description.steps[index], ranks[i], data->gradients[i]);
      for (std::int64_t gap = layout.buckets.back().begin + layout.buckets.back().length; gap < layout.extent; ++gap) {
        EXPECT_EQ(data->gradients[i][gap], 0);
      }
    }
  }
  EXPECT_EQ(stream.next(), nullptr);
  EXPECT_EQ(stream.next(), nullptr);
  EXPECT_GT(stream.seconds_reading(), 0);
}

TEST_P(StepStreams, KeepsWhatItGaveUntilTheNextCall) {
  write(6);
  Reader reader({path_});
  const GradientLayout layout = test::layout_all(reader.description());
  StepStream<double> stream(reader, {0, 1, 2, 3, 4, 5}, {1}, layout, GetParam());
  for (std::int64_t step = 0; step < 6; ++step) {
    const StepData<double>* data = stream.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // time to read ahead into the wrong buffer
    test::expect_values(reader.description(), layout, 2 * step, 1, data->gradients[0]);
  }
}

TEST_P(StepStreams, MayBeLeftEarly) {
  write(20);
  Reader reader({path_});
  const GradientLayout layout = test::layout_all(reader.description());
  std::vector<std::size_t> all(20);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (int taken = 0; taken < 4; ++taken) {
    StepStream<float> stream(reader, all, {0, 1, 2}, layout, GetParam());
    for (int i = 0; i < taken; ++i) ASSERT_NE(stream.next(), nullptr);
  }
  StepStream<float> none(reader, {}, {0}, layout, GetParam());
  EXPECT_EQ(none.next(), nullptr);
}

TEST_P(StepStreams, RethrowsAnErrorInItsTurn) {
  write(5, 1);
  raw::modify(path_, [](hid_t file) {  // step 4 is not there any more
    const hid_t dataset = raw::ok(H5Dopen2(file, "gradients/fc", H5P_DEFAULT));
    const hsize_t four[] = {4, 3, 30, 7};
    const hsize_t five[] = {5, 3, 30, 7};
    raw::ok(H5Dset_extent(dataset, four));
    raw::ok(H5Dset_extent(dataset, five));
    const hsize_t origin[] = {0, 0, 0, 0};
    raw::ok(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, origin, 3, "bad"));
  });
  Reader reader({path_}, {0, false, 2});
  std::vector<std::size_t> without_fc{0, 2};
  const GradientLayout sound = layout_gradients(reader.description().parameters, without_fc);
  StepStream<float> good(reader, {4, 0}, {0}, sound, GetParam());
  EXPECT_NE(good.next(), nullptr);
  EXPECT_NE(good.next(), nullptr);
  StepStream<float> stream(reader, {0, 1}, {0}, test::layout_all(reader.description()), GetParam());
  for (int i = 0; i < 2; ++i) {
    try {
      stream.next();
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("/gradients/fc: step 0, process rank 0"));
    }
  }
}

TEST_P(StepStreams, CountsItsBuffersAgainstTheMemoryLimit) {
  write(4);
  const std::uint64_t limit = 2 << 20;
  Reader reader({path_}, {limit, false, 1});
  GradientLayout layout = test::layout_all(reader.description());
  StepStream<float>(reader, {0, 1, 2, 3}, {0, 1, 2}, layout, 1);
  layout.extent = std::int64_t{1} << 50;
  try {
    const StepStream<float> stream(reader, {0, 1, 2, 3}, {0, 1, 2}, layout, GetParam());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_THAT(error.what(), testing::HasSubstr("memory limit of 2 MiB"));
  }
}

INSTANTIATE_TEST_SUITE_P(Depth, StepStreams, testing::Values(1, 2, 3, 100));

}  // namespace
}  // namespace psgd::dump
