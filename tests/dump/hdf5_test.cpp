#include "libpsgd/dump/hdf5.hpp"

#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/hdf5_rows.hpp"
#include "tests/dump/raw_hdf5.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump::hdf5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    return error.what();
  }
  return "no failure";
}

class Hdf5 : public testing::Test {
 protected:
  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "file.h5";
};

TEST_F(Hdf5, AttributesComeBack) {
  {
    File file = File::create(path_);
    Group group = file.create_group("group");
    group.write_integer("integer", std::numeric_limits<std::int64_t>::min());
    group.write_integers("integers", std::vector<std::int64_t>{1, -2, 3});
    group.write_double("double", 0.1);
    group.write_string("string", "größe");
    group.write_string("string", "again");
    group.write_string("empty", "");
    file.close();
  }
  const File file = File::open(path_);
  const Group group = file.open_group("group");
  EXPECT_TRUE(group.has_attribute("integer"));
  EXPECT_FALSE(group.has_attribute("other"));
  EXPECT_EQ(group.read_integer("integer"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(group.read_integers("integers"), (std::vector<std::int64_t>{1, -2, 3}));
  EXPECT_EQ(group.read_double("double"), 0.1);
  EXPECT_EQ(group.read_double("integer"), -9223372036854775808.0);
  EXPECT_EQ(group.read_string("string"), "again");
  EXPECT_EQ(group.read_string("empty"), "");
  const std::string place = path_.string() + ": attribute \"integers\" of /group";
  EXPECT_THAT(failure([&] { (void)group.read_integer("integers"); }),
              AllOf(StartsWith(path_.string()), HasSubstr("3 values")));
  EXPECT_THAT(failure([&] { (void)group.read_string("integers"); }), AllOf(StartsWith(place), HasSubstr("3 values")));
  EXPECT_THAT(failure([&] { (void)group.read_string("integer"); }), HasSubstr("should be text"));
  EXPECT_THAT(failure([&] { (void)group.read_double("string"); }), HasSubstr("should be a number"));
  EXPECT_THAT(failure([&] { (void)group.read_integer("gone"); }), HasSubstr("\"gone\" of /group is missing"));
}

template <class T>
void expect_round_trip(const std::filesystem::path& path, const std::vector<T>& values, const Shape& extents) {
  std::filesystem::remove(path);
  {
    File file = File::create(path);
    file.write<T>("values", values, extents);
    file.close();
  }
  const File file = File::open(path);
  std::vector<T> found(values.size());
  file.read<T>("values", found, extents);
  EXPECT_EQ(found, values);
}

TEST_F(Hdf5, WholeDatasetsComeBack) {
  expect_round_trip<float>(path_, {1.5F, -2, 3, 4, 5, 6}, {2, 3});
  expect_round_trip<double>(path_, {1e-300, 2}, {2});
  expect_round_trip<std::int32_t>(path_, {-5}, {});
  expect_round_trip<std::int64_t>(path_, {-5, std::int64_t{1} << 62}, {2, 1});
  expect_round_trip<std::uint8_t>(path_, {0, 255}, {2});
  expect_round_trip<std::uint32_t>(path_, {4000000000U}, {1});
  expect_round_trip<std::uint64_t>(path_, {~std::uint64_t{0}}, {1});
  expect_round_trip<float>(path_, {}, {0, 7});
}

TEST_F(Hdf5, WholeDatasetsHaveToFitExactly) {
  {
    File file = File::create(path_);
    file.write<double>("doubles", std::vector<double>(6), {2, 3});
    file.write<float>("floats", std::vector<float>(6), {2, 3});
    file.write<std::int64_t>("integers", std::vector<std::int64_t>(6), {2, 3});
    file.close();
  }
  test::raw::modify(path_, [](hid_t f) { test::raw::replace_dataset(f, "unwritten", H5T_IEEE_F32LE, {{2, 3}}); });
  const File file = File::open(path_);
  std::vector<float> floats(6);
  std::vector<double> doubles(6);
  std::vector<std::int64_t> integers(6);
  EXPECT_THAT(failure([&] {
                file.read<float>("floats", floats, {3, 2});
              }),
              AllOf(StartsWith(path_.string() + ": /floats"), HasSubstr("[2, 3] where [3, 2]")));
  EXPECT_THAT(failure([&] {
                file.read<float>("doubles", floats, {2, 3});
              }),
              HasSubstr("at most 32 bits, found 64-bit"));
  EXPECT_THAT(failure([&] {
                file.read<float>("integers", floats, {2, 3});
              }),
              HasSubstr("found 64-bit signed integers"));
  EXPECT_THAT(failure([&] { file.read<std::int64_t>("floats", integers, {2, 3}); }), HasSubstr("expected integers"));
  EXPECT_THAT(failure([&] { file.read<float>("gone", floats, {2, 3}); }), HasSubstr("/gone is missing"));
  EXPECT_THAT(failure([&] { file.read<float>("unwritten", floats, {2, 3}); }), HasSubstr("never written"));
  EXPECT_EQ(failure([&] { file.read<double>("floats", doubles, {2, 3}); }), "no failure");
}

TEST_F(Hdf5, RowsThatLieApartComeBack) {
  const std::vector<float> a{1, 2, 3};
  const std::vector<float> b{4, 5, 6};
  const std::vector<const float*> rows{a.data(), b.data()};
  {
    File file = File::create(path_);
    write_rows<float>(file, "rows", rows, 3);
    file.close();
  }
  const File file = File::open(path_);
  std::vector<double> first(3);
  std::vector<double> second(3);
  const std::vector<double*> found{first.data(), second.data()};
  read_rows<double>(file, "rows", found, 3);
  EXPECT_THAT(first, testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(second, testing::ElementsAre(4, 5, 6));
  EXPECT_THAT(failure([&] { read_rows<double>(file, "rows", found, 4); }), HasSubstr("[2, 3]"));
}

TEST_F(Hdf5, ListsLinksInOrder) {
  {
    File file = File::create(path_);
    for (const char* name : {"b", "a", "c"}) (void)file.create_group(name);
    file.close();
  }
  EXPECT_EQ(File::open(path_).links(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(File::open(path_).has("a"));
  EXPECT_FALSE(File::open(path_).has("d"));
}

TEST_F(Hdf5, CreatesNewFilesOnly) {
  File::create(path_).close();
  EXPECT_THAT(failure([&] { (void)File::create(path_); }), AllOf(StartsWith(path_.string()), HasSubstr("exist")));
  const auto nowhere = directory_ / "none" / "file.h5";
  EXPECT_THAT(failure([&] { (void)File::create(nowhere, "shown.h5"); }),
              AllOf(StartsWith("shown.h5: cannot create the file"), HasSubstr("No such file or directory")));
}

TEST_F(Hdf5, SaysInOneLineWhatFailedAndWhy) {
  File::create(path_).close();
  const File file = File::open(path_);
  const std::string text =
      failure([&] { call(file.place(), "open the dataset", H5Dopen2, file.id(), "gone", hid_t{H5P_DEFAULT}); });
  EXPECT_THAT(text, StartsWith(path_.string() + ": /: cannot open the dataset ("));
  EXPECT_THAT(text, HasSubstr("object 'gone' doesn't exist"));
}

// Nothing may appear on stderr, whichever thread fails.
TEST_F(Hdf5, PrintsNothingOnAnyThread) {
  File::create(path_).close();
  const File file = File::open(path_);
  testing::internal::CaptureStderr();
  const auto fail = [&] {
    failure([&] { (void)file.open_dataset("gone"); });
    failure([&] { (void)File::create(path_); });
  };
  fail();
  std::thread(fail).join();
  std::thread([&] {
    failure([&] { call(file.place(), "x", H5Dopen2, file.id(), "gone", hid_t{H5P_DEFAULT}); });
  }).join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace psgd::dump::hdf5
