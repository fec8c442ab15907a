#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "libpsgd/dump/foreign/foreign_file.hpp"
#include "tests/dump/foreign/foreign_maker.hpp"
#include "tests/dump/raw_hdf5.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump::foreign {
namespace {

using test::bytes_of;
using test::npy;
using test::put_file;
using test::put_zip;
using test::refusal;
using test::safetensors;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Foreign : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  std::string refused(const std::string& name) {
    return refusal([&] {
      const auto file = open(path(name));
      for (std::size_t i = 0; i < file->tensors().size(); ++i) values_of(*file, i);
    });
  }

  std::string refused_safetensors(const std::string& header, const std::string& data) {
    put_file(path("x.safetensors"), safetensors(header, data));
    const std::string message = refused("x.safetensors");
    if (message == "accepted") return message;
    EXPECT_THAT(message, StartsWith(path("x.safetensors").string()));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }

  std::string refused_npy(const std::string& contents) {
    put_zip(path("x.npz"), {{"w.npy", contents}});
    return refused("x.npz");
  }

  static std::vector<float> values_of(File& file, std::size_t index) {
    const Tensor& tensor = file.tensors()[index];
    std::vector<std::byte> stored(tensor.bytes());
    file.read(index, stored);
    std::vector<float> values(static_cast<std::size_t>(tensor.numel));
    convert(tensor.stored, stored.data(), values.size(), values.data());
    return values;
  }

  test::TemporaryDirectory folder_;
  const std::vector<float> six_{1, 2, 3, 4, 5, 6.5F};
};

TEST_F(Foreign, SafetensorsOfEveryType) {
  const std::string halves("\x00\x3c\x00\xc0", 4);   // 1, −2 in float16
  const std::string bfloats("\x80\x3f\x00\xc0", 4);  // 1, −2 in bfloat16
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},"__metadata__":{"format":"pt"},)"
      R"("h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},)"
      R"("d":{"dtype":"F64","shape":[],"data_offsets":[32,40]},"none":{"dtype":"F32","shape":[0,4],"data_offsets":[40,40]}})";
  put_file(path("x"), safetensors(header, halves + bfloats + bytes_of(six_) + bytes_of(std::vector<double>{0.25})));
  const auto file = open(path("x"));
  ASSERT_EQ(file->tensors().size(), 5U);
  EXPECT_EQ(file->tensors()[0].key, "a") << "in the header's order";
  EXPECT_EQ(file->tensors()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(values_of(*file, 0), six_);
  EXPECT_EQ(values_of(*file, 1), (std::vector<float>{1, -2}));
  EXPECT_EQ(values_of(*file, 2), (std::vector<float>{1, -2}));
  EXPECT_EQ(values_of(*file, 3), (std::vector<float>{0.25}));
  EXPECT_TRUE(values_of(*file, 4).empty());
}

TEST_F(Foreign, SafetensorsWhoseHeaderLies) {
  const std::string data = bytes_of(six_);
  const auto entry = [](const std::string& rest) { return "{\"a\":{" + rest + "}}"; };
  const auto f32 = [&](const std::string& shape, const std::string& offsets) {
    return entry(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets);
  };
  EXPECT_EQ(refused_safetensors(f32("[2,3]", "[0,24]"), data), "accepted");
  EXPECT_THAT(refused_safetensors(f32("[2,3]", "[0,20]"), data), HasSubstr("20 bytes from its offsets, 24"));
  EXPECT_THAT(refused_safetensors(f32("[2,3]", "[24,0]"), data), HasSubstr("from its offsets"));
  EXPECT_THAT(refused_safetensors(f32("[2,3]", "[4,28]"), data), HasSubstr("gap"));
  EXPECT_THAT(refused_safetensors(f32("[2,3]", "[0,24]"), data + "x"), HasSubstr("the file holds 25"));
  EXPECT_THAT(refused_safetensors(f32("[2,3]", "[0,24]"), data.substr(4)), HasSubstr("the file holds 20"));
  EXPECT_THAT(refused_safetensors(f32("[-2,3]", "[0,24]"), data), HasSubstr("shape"));
  EXPECT_THAT(refused_safetensors(f32("[4294967296,4294967296]", "[0,24]"), data), HasSubstr("shape"));
  EXPECT_THAT(refused_safetensors(f32("\"six\"", "[0,24]"), data), HasSubstr("shape"));
  EXPECT_THAT(refused_safetensors(f32("[2,3]", "[0]"), data), HasSubstr("data_offsets"));
  EXPECT_THAT(refused_safetensors(f32("[2,3]", "[-24,0]"), data), HasSubstr("data_offsets"));
  EXPECT_THAT(refused_safetensors(entry(R"("dtype":"I64","shape":[3],"data_offsets":[0,24])"), data), HasSubstr("I64"));
  EXPECT_THAT(refused_safetensors(entry(R"("dtype":"F32","shape":[6])"), data), HasSubstr("lacks"));
  EXPECT_THAT(refused_safetensors("[1]", data), HasSubstr("no JSON object"));
  EXPECT_THAT(refused_safetensors("{\"a\":", data), HasSubstr("no JSON object"));
  EXPECT_THAT(refused_safetensors(R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]},)"
                                  R"("a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})",
                                  data),
              ::testing::AnyOf(HasSubstr("twice"), HasSubstr("overlap")));
  EXPECT_THAT(refused_safetensors(R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]},)"
                                  R"("b":{"dtype":"F32","shape":[1],"data_offsets":[20,24]}})",
                                  data),
              HasSubstr("overlap"));
  put_file(path("x.safetensors"), std::string("\xff\xff\xff\xff\xff\xff\xff\xff{", 9));
  EXPECT_THAT(refused("x.safetensors"), HasSubstr("beyond the file"));
}

TEST_F(Foreign, NpzStoredAndDeflated) {
  std::string turned = bytes_of(six_);
  for (std::size_t i = 0; i < turned.size(); i += 4) {
    std::swap(turned[i], turned[i + 3]);
    std::swap(turned[i + 1], turned[i + 2]);
  }
  for (const bool deflate : {false, true}) {
    put_zip(path("x.npz"),
            {{"layer/w.npy", npy("<f4", "(2, 3)", bytes_of(six_))},
             {"big.npy", npy(">f4", "(6,)", turned, "False", 2)},
             {"scalar.npy", npy("<f8", "()", bytes_of(std::vector<double>{2}))},
             {"half.npy", npy("<f2", "(1, 2)", std::string("\x00\x3c\x00\xc0", 4))}},
            deflate);
    const auto file = open(path("x.npz"));
    ASSERT_EQ(file->tensors().size(), 4U);
    EXPECT_EQ(file->tensors()[0].key, "layer/w");
    EXPECT_EQ(values_of(*file, 0), six_);
    EXPECT_EQ(values_of(*file, 1), six_);
    EXPECT_EQ(values_of(*file, 2), (std::vector<float>{2}));
    EXPECT_EQ(values_of(*file, 3), (std::vector<float>{1, -2}));
    EXPECT_EQ(values_of(*file, 0), six_) << "again, after others";
  }
}

TEST_F(Foreign, NpzThatIsNotSound) {
  const std::string data = bytes_of(six_);
  EXPECT_EQ(refused_npy(npy("<f4", "(2, 3)", data)), "accepted");
  EXPECT_THAT(refused_npy(npy("<f4", "(2, 4)", data)), HasSubstr("where its shape needs"));
  EXPECT_THAT(refused_npy(npy("<f4", "(4294967296, 4294967296)", data)), HasSubstr(""));
  EXPECT_THAT(refused_npy(npy("<f4", "(2, -3)", data)), HasSubstr("shape"));
  EXPECT_THAT(refused_npy(npy("<f4", "6", data)), HasSubstr("shape"));
  EXPECT_THAT(refused_npy(npy("<i4", "(6,)", data)), HasSubstr("its type is '<i4'"));
  EXPECT_THAT(refused_npy(npy("|O", "(6,)", data)), HasSubstr("its type is"));
  EXPECT_THAT(refused_npy(npy("<f4", "(2, 3)", data, "True")), HasSubstr("column by column"));
  EXPECT_THAT(refused_npy("no array at all"), HasSubstr("no .npy array"));
  EXPECT_THAT(refused_npy(""), HasSubstr("too early"));
  EXPECT_THAT(refused_npy(npy("<f4", "(6,)", data, "False", 9)), HasSubstr("no .npy array"));
  put_zip(path("x.npz"), {{"readme.txt", "hello"}});
  EXPECT_THAT(refused("x.npz"), HasSubstr("readme.txt: no .npy array"));
  put_zip(path("x.npz"), {{"w.npy", npy("<f4", "(2, 3)", data)}});
  std::string cut;
  {
    std::ifstream file(path("x.npz"), std::ios::binary);
    cut.assign(std::istreambuf_iterator<char>(file), {});
  }
  put_file(path("x.npz"), cut.substr(0, cut.size() - 30));
  EXPECT_THAT(refused("x.npz"), HasSubstr("cannot open the archive"));
  cut[cut.find(", }") + 10] = '\x7f';
  put_file(path("x.npz"), cut);
  EXPECT_THAT(refused("x.npz"), HasSubstr("w: "));
}

TEST_F(Foreign, Hdf5AtAnyDepth) {
  const hid_t id = H5Fcreate(path("x.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  test::raw::ok(H5Gclose(H5Gcreate2(id, "step_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
  const hid_t nested = test::raw::replace_dataset(id, "step_0/w", H5T_IEEE_F32BE, {{2, 3}});
  test::raw::ok(H5Dwrite(nested, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, six_.data()));
  H5Dclose(nested);
  H5Dclose(test::raw::replace_dataset(id, "count", H5T_NATIVE_INT, {{3}}));
  test::raw::ok(H5Lcreate_soft("/step_0/w", id, "soft", H5P_DEFAULT, H5P_DEFAULT));
  test::raw::ok(H5Fclose(id));
  const auto file = open(path("x.h5"));
  ASSERT_EQ(file->tensors().size(), 1U) << "no integers, no soft links";
  EXPECT_EQ(file->tensors()[0].key, "step_0/w");
  EXPECT_EQ(values_of(*file, 0), six_);
}

TEST_F(Foreign, Hdf5WhoseGroupsLeadBackUp) {
  const hid_t id = H5Fcreate(path("x.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t group = H5Gcreate2(id, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  test::raw::ok(H5Lcreate_hard(id, "g", group, "again", H5P_DEFAULT, H5P_DEFAULT));
  test::raw::ok(H5Gclose(group));
  test::raw::ok(H5Fclose(id));
  EXPECT_THAT(refused("x.h5"), HasSubstr("groups lie too deep"));
}

TEST_F(Foreign, OtherFiles) {
  put_file(path("text"), "hello, world");
  put_file(path("empty"), "");
  EXPECT_THAT(refused("text"), HasSubstr("of no format known here (hdf5, npz, safetensors)"));
  EXPECT_THAT(refused("empty"), HasSubstr("of no format known here"));
  EXPECT_THAT(refused("none"), HasSubstr("No such file"));
  EXPECT_THAT(refusal([&] { open(folder_.path()); }), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace psgd::dump::foreign
