#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/reader.hpp"
#include "tests/dump/dump_maker.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump {
namespace {

using test::parameter;
using testing::HasSubstr;

class SeveralFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, std::vector<std::int64_t> ranks,
                              const std::vector<std::int64_t>& steps,
                              const std::function<void(WriterOptions&)>& change = {}) {
    WriterOptions options;
    options.world_size = 4;
    options.process_ranks = std::move(ranks);
    options.parameters = {parameter("conv", {4, 3, 2, 2}, DType::float32, MemoryFormat::channels_last),
                          parameter("fc", {9, 5})};
    if (change) change(options);
    test::write_dump(directory_ / name, options, steps);
    return directory_ / name;
  }

  std::string refusal(const std::function<void(WriterOptions&)>& change) {
    const auto first = write("first.h5", {0}, {0, 1});
    std::filesystem::remove(directory_ / "second.h5");
    const auto second = write("second.h5", {1}, {0, 1}, change);
    std::string message = "accepted";
    try {
      const Reader reader({first, second});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_THAT(error.what(), testing::StartsWith(second.string()));
      message = error.what();
    }
    std::filesystem::remove(first);
    return message;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(SeveralFiles, MakeOneRecording) {
  Reader reader({write("b.h5", {3, 1}, {0, 1, 2}), write("a.h5", {2}, {0, 1, 2}), write("c.h5", {0}, {0, 1, 2})});
  EXPECT_EQ(reader.description().process_ranks, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(reader.description().files.size(), 3U);
  EXPECT_TRUE(reader.description().notes.empty());
  test::expect_reads_back<float>(reader);
}

TEST_F(SeveralFiles, OfTwoJobsAreNoted) {
  const Reader reader({write("a.h5", {0}, {0, 1}),
                       write("b.h5", {1}, {0, 1}, [](WriterOptions& options) { options.model = "another"; })});
  EXPECT_THAT(reader.description().notes, testing::ElementsAre(HasSubstr("are they of one job?")));
}

TEST_F(SeveralFiles, MayDifferInStorage) {
  Reader reader({write("a.h5", {0}, {0, 1}), write("b.h5", {1}, {0, 1}, [](WriterOptions& options) {
                   options.gzip = 1;
                   options.big_endian = true;
                 })});
  test::expect_reads_back<double>(reader);
}

TEST_F(SeveralFiles, GiveTheStepsThatAllHold) {
  Reader reader({write("a.h5", {0}, {0, 2, 4, 5, 6}), write("b.h5", {1}, {1, 2, 4, 6, 7})});
  EXPECT_EQ(reader.description().steps, (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_THAT(reader.description().notes,
              testing::ElementsAre(HasSubstr("a.h5: 2 steps that other files lack left out: 0, 5"), HasSubstr("1, 7")));
  test::expect_reads_back<float>(reader);
}

TEST_F(SeveralFiles, HaveToHoldAStepInCommon) {
  const auto a = write("a.h5", {0}, {0, 2});
  const auto b = write("b.h5", {1}, {1, 3});
  EXPECT_THROW(Reader({a, b}), Error);
}

TEST_F(SeveralFiles, HoldEachProcessRankOnce) {
  const auto a = write("a.h5", {0, 2}, {0});
  const auto b = write("b.h5", {1, 2}, {0});
  try {
    const Reader reader({a, b});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::StartsWith(b.string()), HasSubstr("process rank 2"), HasSubstr("a.h5")));
  }
}

TEST_F(SeveralFiles, HaveToAgree) {
  EXPECT_THAT(refusal([](auto& o) { o.world_size = 5; }), HasSubstr("world_size is 5"));
  EXPECT_THAT(refusal([](auto& o) { o.grad_kind = GradKind::averaged; }), HasSubstr("grad_kind is averaged"));
  EXPECT_THAT(refusal([](auto& o) { o.parameters.pop_back(); }), HasSubstr("number of parameters is 1"));
  EXPECT_THAT(refusal([](auto& o) { o.parameters[1].name = "fc2"; }), HasSubstr("parameter 1 is \"fc2\""));
  EXPECT_THAT(refusal([](auto& o) { std::swap(o.parameters[0], o.parameters[1]); }), HasSubstr("parameter 0"));
  EXPECT_THAT(refusal([](auto& o) { o.parameters[1].shape = {5, 9}; }), HasSubstr("shape of \"fc\" is [5, 9]"));
  EXPECT_THAT(refusal([](auto& o) { o.parameters[1].dtype = DType::float64; }), HasSubstr("logical_dtype of \"fc\""));
  EXPECT_THAT(refusal([](auto& o) { o.parameters[0].memory_format = MemoryFormat::contiguous; }),
              HasSubstr("memory_format of \"conv\""));
  EXPECT_THAT(refusal([](auto& o) {
                o.parameters[0].bucket = 0;
                o.parameters[1].bucket = 1;
              }),
              HasSubstr("bucket layout is recorded"));
  EXPECT_EQ(refusal({}), "accepted");
}

}  // namespace
}  // namespace psgd::dump
