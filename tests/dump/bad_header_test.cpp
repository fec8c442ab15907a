// Files that are no dump, damaged, or whose description is not sound: each is refused with one line that says what and
// where.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dump/bad_input.hpp"

namespace psgd::dump {
namespace {

using testing::HasSubstr;

TEST_F(BadInput, IsAcceptedBeforeItIsSpoilt) { EXPECT_EQ(message(), "accepted"); }

TEST_F(BadInput, NoFile) {
  fs::remove(path_);
  EXPECT_THAT(message(), HasSubstr("No such file"));
}

TEST_F(BadInput, DirectoryAndPipe) {
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_THAT(message(), HasSubstr("not a regular file"));
  fs::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(message(), HasSubstr("not a regular file"));
}

TEST_F(BadInput, NotHdf5) {
  for (const std::string& content : {std::string(), std::string("text\n"), std::string(10000, '\0')}) {
    std::ofstream(path_, std::ios::binary) << content;
    EXPECT_THAT(message(), HasSubstr("not an HDF5 file"));
  }
}

TEST_F(BadInput, Unreadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  fs::permissions(path_, fs::perms::none);
  EXPECT_THAT(message(), HasSubstr("Permission denied"));
}

TEST_F(BadInput, Truncated) {
  const auto size = fs::file_size(path_);
  for (const double part : {0.99, 0.7, 0.3, 0.05}) {
    fs::resize_file(path_, static_cast<std::uintmax_t>(static_cast<double>(size) * part));
    EXPECT_THAT(message(), testing::AnyOf(HasSubstr("truncated"), HasSubstr("cannot"))) << part;
  }
}

TEST_F(BadInput, OpenForWritingElsewhere) {
  const int descriptor = open(path_.c_str(), O_RDONLY);
  ASSERT_EQ(flock(descriptor, LOCK_EX), 0);
  EXPECT_THAT(message(), HasSubstr("another program has it open"));
  close(descriptor);
}

TEST_F(BadInput, AnotherFormat) {
  EXPECT_THAT(after([](hid_t f) { raw::set_text(f, "format", "psgd-state"); }),
              HasSubstr("its format is \"psgd-state\""));
  EXPECT_THAT(after([](hid_t f) { raw::set_text(f, "format", "two\nlines"); }), HasSubstr("\"two?lines\""));
  EXPECT_THAT(after([](hid_t f) { raw::set_integer(f, "format", 1); }), HasSubstr("should be text"));
}

TEST_F(BadInput, NewerVersion) {
  EXPECT_THAT(after([](hid_t f) {
                raw::set_integers(f, "format_version", {2, 0});
              }),
              HasSubstr("newer than this program"));
  EXPECT_THAT(after([](hid_t f) { raw::set_integers(f, "format_version", {0, 9}); }), HasSubstr("no layout 0.9"));
  EXPECT_THAT(after([](hid_t f) { raw::set_integers(f, "format_version", {1}); }), HasSubstr("two numbers"));
}

TEST_F(BadInput, MissingAttributes) {
  for (const char* name : {"format", "format_version", "world_size", "ranks", "grad_kind", "complete"}) {
    write_sound_file();
    EXPECT_THAT(after([&](hid_t f) { raw::remove_attribute(f, name); }),
                testing::AllOf(HasSubstr(name), HasSubstr("missing")));
  }
}

TEST_F(BadInput, MissingGroupsAndDatasets) {
  for (const char* name : {"steps", "parameters", "gradients", "gradients/fc"}) {
    write_sound_file();
    EXPECT_THAT(after([&](hid_t f) { raw::ok(H5Ldelete(f, name, H5P_DEFAULT)); }),
                HasSubstr(std::string("/") + name + " is missing"));
  }
}

TEST_F(BadInput, UnsoundHeader) {
  const auto spoil = [&](const std::function<void(hid_t)>& change) {
    write_sound_file();
    return after(change);
  };
  EXPECT_THAT(spoil([](hid_t f) { raw::set_integer(f, "world_size", 0); }), HasSubstr("world_size is 0"));
  EXPECT_THAT(spoil([](hid_t f) { raw::set_integers(f, "world_size", {2, 2}); }), HasSubstr("2 values"));
  EXPECT_THAT(spoil([](hid_t f) {
                raw::set_integers(f, "ranks", {0, 2});
              }),
              HasSubstr("process rank 2 in a world of 2"));
  EXPECT_THAT(spoil([](hid_t f) { raw::set_integers(f, "ranks", {1, 1}); }), HasSubstr("listed twice"));
  EXPECT_THAT(spoil([](hid_t f) { raw::set_integers(f, "ranks", {1}); }), HasSubstr("process ranks where"));
  EXPECT_THAT(spoil([](hid_t f) { raw::set_text(f, "ranks", "0, 1"); }), HasSubstr("should hold integers"));
  EXPECT_THAT(spoil([](hid_t f) { raw::set_text(f, "grad_kind", "other"); }), HasSubstr("grad_kind is \"other\""));
  EXPECT_THAT(spoil([](hid_t f) { raw::set_attribute(f, "grad_kind", raw::text_type(8), {}, "lo\0cal\0"); }),
              HasSubstr("grad_kind is \"lo\""));
  EXPECT_THAT(spoil([](hid_t f) {
                const hid_t padded = raw::text_type(8);
                H5Tset_strpad(padded, H5T_STR_NULLPAD);
                raw::set_attribute(f, "grad_kind", padded, {}, "lo\0cal\0");
              }),
              HasSubstr("NUL character"));
}

TEST_F(BadInput, Steps) {
  const auto with_steps = [&](const std::vector<std::int64_t>& steps) {
    return after([&](hid_t file) {
      const hid_t dataset = raw::replace_dataset(file, "steps", H5T_STD_I64LE, {{steps.size()}});
      if (!steps.empty()) raw::write_all(dataset, H5T_NATIVE_INT64, steps.data());
    });
  };
  EXPECT_THAT(with_steps({}), HasSubstr("no complete step"));
  EXPECT_THAT(with_steps({0, 2, 1}), HasSubstr("step 2 is followed by step 1"));
  EXPECT_THAT(with_steps({0, 0}), HasSubstr("step 0 is followed by step 0"));
  EXPECT_THAT(with_steps({-1, 0}), HasSubstr("begins with -1"));
  EXPECT_THAT(with_steps({0, 1, 2, 3}), HasSubstr("holds 3 steps where /steps lists 4"));
  EXPECT_THAT(after([](hid_t f) {
                raw::replace_dataset(f, "steps", H5T_STD_I64LE, {{3}, {H5S_UNLIMITED}, {2}});
              }),
              HasSubstr("never written"));
  EXPECT_THAT(after([](hid_t f) { raw::replace_dataset(f, "steps", H5T_STD_I64LE, {{3}}); }),
              HasSubstr("never written"));
  EXPECT_THAT(after([](hid_t f) { raw::replace_dataset(f, "steps", H5T_STD_I64LE, {{3, 1}}); }), HasSubstr("[3, 1]"));
  EXPECT_THAT(after([](hid_t f) { raw::replace_dataset(f, "steps", H5T_IEEE_F64LE, {{3}}); }),
              HasSubstr("64-bit floating"));
  EXPECT_THAT(after([](hid_t f) {
                raw::replace_dataset(f, "steps", H5T_STD_I64LE, {{hsize_t{1} << 60}, {H5S_UNLIMITED}, {1024}});
              }),
              HasSubstr("claims 1152921504606846976 steps"));
}

TEST_F(BadInput, ParameterTable) {
  struct Row {
    const char* name;
    std::int32_t bucket;
    std::int64_t offset;
  };
  const auto with_rows = [&](const std::vector<Row>& rows) {
    return after([&](hid_t file) {
      const hid_t record = raw::ok(H5Tcreate(H5T_COMPOUND, sizeof(Row)));
      raw::ok(H5Tinsert(record, "name", offsetof(Row, name), raw::text_type()));
      raw::ok(H5Tinsert(record, "bucket", offsetof(Row, bucket), H5T_NATIVE_INT32));
      raw::ok(H5Tinsert(record, "offset", offsetof(Row, offset), H5T_NATIVE_INT64));
      const hid_t table = raw::replace_dataset(file, "parameters", record, {{rows.size()}});
      if (!rows.empty()) raw::write_all(table, record, rows.data());
    });
  };
  EXPECT_THAT(with_rows({}), HasSubstr("describes no parameter"));
  EXPECT_THAT(with_rows({{"fc", -1, 0}, {"fc", -1, 0}}), HasSubstr("two parameters are named \"fc\""));
  EXPECT_THAT(with_rows({{"f\nc", -1, 0}}), HasSubstr("\"f?c\""));
  EXPECT_THAT(with_rows({{"\xff", -1, 0}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(with_rows({{"fc", 0, 0}, {"bias", -1, 0}}), HasSubstr("1 of 2 parameters no bucket"));
  EXPECT_THAT(with_rows({{"fc", -2, 0}}), HasSubstr("in bucket -2"));
  EXPECT_THAT(with_rows({{"fc", 0, -4}}), HasSubstr("at offset -4"));
  EXPECT_THAT(with_rows({{"fc", 0, INT64_MAX}}), HasSubstr("at offset"));
  EXPECT_THAT(with_rows({{"fc", 0, 0}, {"bias", 0, 44}}), HasSubstr("overlap"));
  EXPECT_THAT(with_rows({{"gone", -1, 0}}), HasSubstr("/gradients/gone is missing"));
  EXPECT_EQ(with_rows({{"fc", 0, 0}, {"bias", 0, 45}}), "accepted");
  EXPECT_THAT(after([](hid_t f) { raw::replace_dataset(f, "parameters", H5T_STD_I64LE, {{3}}); }),
              HasSubstr("records of"));
  EXPECT_THAT(after([](hid_t f) {
                const hid_t record = raw::ok(H5Tcreate(H5T_COMPOUND, 16));
                raw::ok(H5Tinsert(record, "name", 0, raw::text_type()));
                raw::ok(H5Tinsert(record, "bucket", 8, H5T_NATIVE_INT32));
                raw::replace_dataset(f, "parameters", record, {{1}});
              }),
              HasSubstr("\"offset\""));
}

TEST_F(BadInput, TooManyParameters) {
  EXPECT_THAT(after([](hid_t f) {
                const hid_t record = raw::ok(H5Tcreate(H5T_COMPOUND, 24));
                raw::ok(H5Tinsert(record, "name", 0, raw::text_type(8)));
                raw::ok(H5Tinsert(record, "bucket", 8, H5T_NATIVE_INT32));
                raw::ok(H5Tinsert(record, "offset", 16, H5T_NATIVE_INT64));
                raw::replace_dataset(f, "parameters", record, {{1'000'001}, {}, {1000}});
              }),
              HasSubstr("1000001 parameters"));
}

TEST_F(BadInput, OptionalDatasets) {
  EXPECT_THAT(after([](hid_t f) {
                raw::replace_dataset(f, "loss_scale", H5T_IEEE_F32LE, {{3, 3}});
              }),
              HasSubstr("/loss_scale has the extents [3, 3] where [3, 2]"));
  EXPECT_THAT(after([](hid_t f) {
                raw::replace_dataset(f, "loss_scale", H5T_IEEE_F32LE, {{3, 2}});
                raw::replace_dataset(f, "loss", H5T_STD_I32LE, {{3, 2}});
              }),
              HasSubstr("/loss holds 32-bit signed integers"));
  EXPECT_THAT(after([](hid_t f) {
                raw::replace_dataset(f, "loss", H5T_IEEE_F64LE, {{3, 2}});
                raw::replace_dataset(f, "accumulation", H5T_STD_I32LE, {{2}});
              }),
              HasSubstr("/accumulation has the extents [2] where [3]"));
  EXPECT_THAT(after([](hid_t f) {
                raw::replace_dataset(f, "accumulation", H5T_STD_I32LE, {{5}});
                raw::replace_dataset(f, "present", H5T_STD_U8LE, {{3, 2, 2}});
              }),
              HasSubstr("/present has the extents [3, 2, 2] where [3, 2, 3]"));
}

TEST_F(BadInput, NoFileAtAll) {
  try {
    const Reader reader({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace psgd::dump
