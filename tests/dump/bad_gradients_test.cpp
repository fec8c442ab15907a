// Gradients that are of another kind, damaged, or made to do harm: each is refused with one line that says what and
// where.

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dump/bad_input.hpp"

namespace psgd::dump {
namespace {

using test::parameter;
using testing::HasSubstr;

TEST_F(BadInput, GradientsOfAnotherType) {
  const std::vector<float> values(3 * 2 * 45);
  const raw::Form form{{3, 2, 9, 5}};
  EXPECT_THAT(with_fc(H5T_STD_I32LE, form), HasSubstr("32-bit signed integers"));
  EXPECT_THAT(with_fc(H5T_STD_U16LE, form), HasSubstr("16-bit unsigned integers"));
  EXPECT_THAT(with_fc(H5T_STD_I16LE, form, nullptr, 0, "bfloat16"), HasSubstr("16-bit signed integers"));
  EXPECT_THAT(with_fc(raw::text_type(4), form), HasSubstr("stored as text"));
  const hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8);
  const std::int8_t no = 0;
  H5Tenum_insert(boolean, "FALSE", &no);
  EXPECT_THAT(with_fc(boolean, form), HasSubstr("booleans"));
  const hid_t complex = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(complex, "r", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(complex, "i", 4, H5T_NATIVE_FLOAT);
  EXPECT_THAT(with_fc(complex, form), HasSubstr("complex"));
  EXPECT_THAT(with_fc(H5T_NATIVE_LDOUBLE, form), HasSubstr("128-bit floating"));
  const hid_t odd = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_ebias(odd, 100);
  EXPECT_THAT(with_fc(odd, form), HasSubstr("32-bit floating"));
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, form, values.data(), H5T_NATIVE_FLOAT, "int8"),
              HasSubstr("logical_dtype is \"int8\""));
  EXPECT_EQ(with_fc(H5T_IEEE_F32LE, form, values.data()), "accepted");
}

TEST_F(BadInput, GradientAttributes) {
  const auto spoil = [&](const std::function<void(hid_t)>& change) {
    write_sound_file();
    return after([&](hid_t file) { change(raw::ok(H5Dopen2(file, "gradients/fc", H5P_DEFAULT))); });
  };
  EXPECT_THAT(spoil([](hid_t d) { raw::remove_attribute(d, "name"); }), HasSubstr("\"name\""));
  EXPECT_THAT(spoil([](hid_t d) { raw::set_text(d, "name", "other"); }), HasSubstr("says \"other\""));
  EXPECT_THAT(spoil([](hid_t d) { raw::remove_attribute(d, "memory_format"); }), HasSubstr("\"memory_format\""));
  EXPECT_THAT(spoil([](hid_t d) { raw::set_text(d, "memory_format", "sparse"); }), HasSubstr("\"sparse\""));
  EXPECT_THAT(spoil([](hid_t d) { raw::set_text(d, "memory_format", "channels_last"); }), HasSubstr("4 dimensions"));
}

TEST_F(BadInput, GradientExtents) {
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3}}), HasSubstr("[3]"));
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{}}), HasSubstr("[]"));
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{2, 2, 9, 5}}), HasSubstr("holds 2 steps where /steps lists 3"));
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3, 3, 9, 5}}), HasSubstr("holds 3 process ranks"));
  const hsize_t large = hsize_t{1} << 31;
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3, 2, large, large}, {}, {1, 1, 1024, 1024}}), HasSubstr("2^60 elements"));
}

TEST_F(BadInput, PetabytesInAKilobyteFile) {
  const hsize_t large = hsize_t{1} << 25;
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3, 2, large, large}, {}, {1, 1, 1024, 1024}}),
              HasSubstr("claim at least 4.5e+15 bytes"));
  const auto gzip = [](hid_t creation) { raw::ok(H5Pset_deflate(creation, 9)); };
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3, 2, large, large}, {}, {1, 1, 1024, 1024}, gzip}),
              HasSubstr("claim at least"));
}

TEST_F(BadInput, ChunksThatAreTooLarge) {
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3, 2, 20000, 20000}, {}, {1, 1, 20000, 20000}}),
              HasSubstr("more than 1024 MiB"));
}

TEST_F(BadInput, NeverWritten) {
  const auto gzip = [](hid_t creation) { raw::ok(H5Pset_deflate(creation, 9)); };
  for (const bool filtered : {false, true}) {
    EXPECT_THAT(after([&](hid_t file) {
                  const raw::Form form{{3, 2, 9, 5}, {}, {1, 1, 9, 5}, filtered ? gzip : std::function<void(hid_t)>()};
                  const hid_t dataset = raw::replace_dataset(file, "gradients/fc", H5T_IEEE_F32LE, form);
                  raw::describe(dataset, "fc");
                  const hid_t space = raw::ok(H5Dget_space(dataset));
                  for (const hsize_t record : {0, 1, 2, 4, 5}) {  // all but step 1 of process rank 1
                    const hsize_t start[] = {record / 2, record % 2, 0, 0};
                    const hsize_t count[] = {1, 1, 9, 5};
                    const std::vector<float> values(45);
                    raw::ok(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr));
                    raw::ok(H5Dwrite(dataset, H5T_NATIVE_FLOAT, raw::simple_space({1, 1, 9, 5}), space, H5P_DEFAULT,
                                     values.data()));
                  }
                }),
                HasSubstr("/gradients/fc: step 1, process rank 1: was never written"));
  }
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3, 2, 9, 5}}), HasSubstr("step 0, process rank 0: was never written"));
}

TEST_F(BadInput, StorageInOtherFiles) {
  std::ofstream(directory_ / "outside.bin") << std::string(100000, 'x');
  const std::string outside = (directory_ / "outside.bin").string();
  EXPECT_THAT(
      with_fc(H5T_IEEE_F32LE, {{3, 2, 9, 5},
                               {},
                               {},
                               [&](hid_t creation) { raw::ok(H5Pset_external(creation, outside.c_str(), 0, 1080)); }}),
      HasSubstr("external files"));
  EXPECT_THAT(with_fc(H5T_IEEE_F32LE, {{3, 2, 9, 5},
                                       {},
                                       {},
                                       [&](hid_t creation) {
                                         const hid_t space = raw::simple_space({3, 2, 9, 5});
                                         raw::ok(H5Pset_virtual(creation, space, "other.h5", "x", space));
                                       }}),
              HasSubstr("virtual dataset"));
}

TEST_F(BadInput, LinksThatLeadOutOfTheFile) {
  EXPECT_THAT(after([](hid_t f) {
                raw::ok(H5Ldelete(f, "gradients/fc", H5P_DEFAULT));
                raw::ok(H5Lcreate_external("other.h5", "/x", f, "gradients/fc", H5P_DEFAULT, H5P_DEFAULT));
              }),
              HasSubstr("/gradients/fc is an external link"));
  EXPECT_THAT(after([](hid_t f) {
                raw::ok(H5Ldelete(f, "gradients/fc", H5P_DEFAULT));
                raw::ok(H5Lcreate_soft("/gradients/bias", f, "gradients/fc", H5P_DEFAULT, H5P_DEFAULT));
              }),
              HasSubstr("/gradients/fc is a soft link"));
  EXPECT_THAT(after([](hid_t f) {
                raw::ok(H5Lmove(f, "gradients", f, "elsewhere", H5P_DEFAULT, H5P_DEFAULT));
                raw::ok(H5Lcreate_external("other.h5", "/gradients", f, "gradients", H5P_DEFAULT, H5P_DEFAULT));
              }),
              HasSubstr("/gradients is an external link"));
}

TEST_F(BadInput, ObjectsOfAnotherKind) {
  EXPECT_THAT(after([](hid_t f) {
                raw::ok(H5Ldelete(f, "gradients/fc", H5P_DEFAULT));
                raw::ok(H5Gcreate2(f, "gradients/fc", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
              }),
              HasSubstr("cannot open the dataset"));
  EXPECT_THAT(after([](hid_t f) {
                raw::ok(H5Ldelete(f, "gradients", H5P_DEFAULT));
                raw::replace_dataset(f, "gradients", H5T_IEEE_F32LE, {{3}});
              }),
              HasSubstr("cannot open the group"));
}

// A filter that only the test knows, as an lzf plug-in would be.
const H5Z_class2_t unknown_filter{
    H5Z_CLASS_T_VERS,
    32000,
    1,
    1,
    "lzf",
    nullptr,
    nullptr,
    [](unsigned, std::size_t, const unsigned[], std::size_t bytes, std::size_t*, void**) { return bytes; }};

TEST_F(BadInput, FiltersThatAreNotHdf5sOwn) {
  raw::ok(H5Zregister(&unknown_filter));
  const std::vector<float> values(270);
  const std::string text =
      with_fc(H5T_IEEE_F32LE,
              {{3, 2, 9, 5}, {}, {1, 1, 9, 5}, [](hid_t c) { raw::ok(H5Pset_filter(c, 32000, 0, 0, nullptr)); }},
              values.data());
  EXPECT_THAT(text, testing::AllOf(HasSubstr("the filter 32000 (lzf) is not read"), HasSubstr("h5py")));
  EXPECT_EQ(message({0, true, 1}), "accepted");
  raw::ok(H5Zunregister(32000));
  EXPECT_THAT(message({0, true, 1}), HasSubstr("not installed"));
}

TEST_F(BadInput, DamagedChunks) {
  WriterOptions options;
  options.parameters = {parameter("w", {100, 100})};
  options.fletcher32 = true;
  fs::remove(path_);
  test::write_dump(path_, options, {0});
  std::string content(fs::file_size(path_), '\0');
  std::ifstream(path_, std::ios::binary).read(content.data(), static_cast<std::streamsize>(content.size()));
  const auto value = static_cast<float>(test::value_at(0, 0, 0, 5000));
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  for (std::size_t i = 1; i < 8; ++i) {
    const auto next = static_cast<float>(test::value_at(0, 0, 0, 5000 + static_cast<std::int64_t>(i)));
    bytes.append(reinterpret_cast<const char*>(&next), 4);
  }
  const std::size_t at = content.find(bytes);
  ASSERT_NE(at, std::string::npos);
  content[at] = static_cast<char>(content[at] ^ 4);
  std::ofstream(path_, std::ios::binary) << content;
  EXPECT_THAT(message(), testing::AllOf(HasSubstr("/gradients/w: step 0, process rank 0: the chunk at [0, 0, 0, 0]"),
                                        HasSubstr("fletcher32")));
}

TEST_F(BadInput, CutShortWhileItIsRead) {
  for (const bool filtered : {false, true}) {
    WriterOptions options;
    options.parameters = {parameter("w", {300, 300})};
    options.gzip = filtered ? 1 : 0;
    fs::remove(path_);
    test::write_dump(path_, options, {0});
    Reader reader({path_});
    fs::resize_file(path_, 20000);
    try {
      test::read_step<float>(reader, 0, test::layout_all(reader.description()), {0});
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith(path_.string()), HasSubstr("cut short")));
    }
  }
}

// Chunks written raw, so that they hold what no filter made.
TEST_F(BadInput, ChunksThatAreNotWhatTheyClaim) {
  const auto gzip = [](hid_t creation) { raw::ok(H5Pset_deflate(creation, 1)); };
  const auto with_chunk = [&](const std::string& stored, std::uint32_t mask) {
    return after([&](hid_t file) {
      const hid_t dataset =
          raw::replace_dataset(file, "gradients/fc", H5T_IEEE_F32LE, {{3, 2, 9, 5}, {}, {3, 2, 9, 5}, gzip});
      raw::describe(dataset, "fc");
      const hsize_t origin[] = {0, 0, 0, 0};
      raw::ok(H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, origin, stored.size(), stored.data()));
    });
  };
  EXPECT_THAT(with_chunk("garbage", 0), HasSubstr("compressed data are damaged"));
  EXPECT_THAT(with_chunk("garbage", 1), HasSubstr("holds 7 bytes where a chunk has 1080"));
  EXPECT_THAT(with_chunk(std::string(5000, 'x'), 0), HasSubstr("takes 5000 bytes in the file"));
  EXPECT_EQ(with_chunk(std::string(1080, '\0'), 1), "accepted");
}

}  // namespace
}  // namespace psgd::dump
