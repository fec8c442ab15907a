#include "libpsgd/dump/reader.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "tests/dump/dump_maker.hpp"
#include "tests/dump/raw_hdf5.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump {
namespace {

using test::expect_reads_back;
using test::parameter;
using test::TemporaryDirectory;
namespace raw = test::raw;

TEST(Reader, DescribesTheRecording) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.world_size = 3;
  options.parameters = test::small_parameters();
  options.framework = "pytorch";
  options.framework_version = "2.1";
  options.model = "tiny";
  test::write_dump(directory / "dump.h5", options, {3, 5, 8});
  const Reader reader({directory / "dump.h5"});
  const Description& found = reader.description();
  EXPECT_EQ(found.world_size, 3);
  EXPECT_EQ(found.process_ranks, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(found.steps, (std::vector<std::int64_t>{3, 5, 8}));
  EXPECT_EQ(found.grad_kind, GradKind::local);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.framework, "pytorch");
  EXPECT_EQ(found.framework_version, "2.1");
  EXPECT_EQ(found.model, "tiny");
  EXPECT_EQ(found.writer, "psgd");
  EXPECT_TRUE(found.notes.empty());
  ASSERT_EQ(found.parameters.size(), options.parameters.size());
  for (std::size_t i = 0; i < found.parameters.size(); ++i) {
    EXPECT_EQ(found.parameters[i].name, options.parameters[i].name);
    EXPECT_EQ(found.parameters[i].shape, options.parameters[i].shape);
    EXPECT_EQ(found.parameters[i].memory_format, options.parameters[i].memory_format);
  }
}

TEST(Reader, GivesBucketsByTheDefaultRuleWhereNoneWereRecorded) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("first", {8}), parameter("second", {600, 600}), parameter("third", {10})};
  test::write_dump(directory / "dump.h5", options, {0});
  const Reader reader({directory / "dump.h5"});
  EXPECT_FALSE(reader.description().buckets_recorded);
  const std::vector<Parameter>& found = reader.description().parameters;
  EXPECT_EQ(found[2].bucket, 0);
  EXPECT_EQ(found[1].bucket, 0);
  EXPECT_EQ(found[1].offset, 10);
  EXPECT_EQ(found[0].bucket, 1);
}

TEST(Reader, KeepsRecordedBuckets) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("a", {8}), parameter("b", {4, 2})};
  options.parameters[0].bucket = 5;
  options.parameters[0].offset = 8;
  options.parameters[1].bucket = 5;
  test::write_dump(directory / "dump.h5", options, {0});
  Reader reader({directory / "dump.h5"});
  EXPECT_TRUE(reader.description().buckets_recorded);
  EXPECT_EQ(reader.description().parameters[0].bucket, 5);
  EXPECT_EQ(reader.description().parameters[0].offset, 8);
  expect_reads_back<float>(reader);
}

TEST(Reader, FindsNamesThatHdf5CannotHold) {
  const TemporaryDirectory directory;
  WriterOptions options;
  for (const char* name : {"", ".", "..", "a/b", "a%2Fb", "%", "重み", "x.y.z"}) {
    options.parameters.push_back(parameter(name, {2, 3}));
  }
  test::write_dump(directory / "dump.h5", options, {0});
  // Another writer may escape in small letters.
  raw::modify(directory / "dump.h5", [](hid_t file) {
    raw::ok(H5Lmove(file, "gradients/a%2Fb", file, "gradients/a%2fb", H5P_DEFAULT, H5P_DEFAULT));
  });
  Reader reader({directory / "dump.h5"});
  expect_reads_back<float>(reader);
}

TEST(Reader, ReadsAPartOfTheParametersAndProcessRanks) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.world_size = 4;
  options.parameters = test::small_parameters();
  test::write_dump(directory / "dump.h5", options, {0, 1});
  Reader reader({directory / "dump.h5"});
  const Description& description = reader.description();
  const std::vector<std::size_t> chosen{6, 2};
  const GradientLayout layout = layout_gradients(description.parameters, chosen);
  const std::vector<std::int64_t> ranks{3, 1};
  const auto memory = test::read_step<float>(reader, 1, layout, ranks);
  test::expect_values(description, layout, 1, 3, memory[0].data());
  test::expect_values(description, layout, 1, 1, memory[1].data());
}

TEST(Reader, LeavesWhatBelongsToNoTensorAlone) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("a", {5}), parameter("b", {3, 3})};
  for (std::size_t i = 0; i < 2; ++i) options.parameters[i].bucket = static_cast<std::int32_t>(i);
  test::write_dump(directory / "dump.h5", options, {0});
  Reader reader({directory / "dump.h5"});
  const GradientLayout layout = test::layout_all(reader.description());
  const auto memory = test::read_step<float>(reader, 0, layout, {0});
  for (std::int64_t i = 5; i < layout.buckets[1].begin; ++i) EXPECT_EQ(memory[0][static_cast<std::size_t>(i)], -1);
  for (std::int64_t i = layout.buckets[1].begin + 9; i < layout.extent; ++i) {
    EXPECT_EQ(memory[0][static_cast<std::size_t>(i)], -1);
  }
}

TEST(Reader, PassesNanAndInfinityThrough) {
  const TemporaryDirectory directory;
  const std::vector<double> values{std::nan(""), std::numeric_limits<double>::infinity(), -0.0, 1e-40, 1e300};
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    WriterOptions options;
    options.parameters = {parameter("w", {5}, dtype)};
    const auto path = directory / (std::string(to_string(dtype)) + ".h5");
    Writer writer(path, options);
    writer.append_step<double>(0, std::vector<std::vector<const double*>>{{values.data()}});
    writer.close();
    Reader reader({path});
    const auto found = test::read_step<float>(reader, 0, test::layout_all(reader.description()), {0})[0];
    EXPECT_TRUE(std::isnan(found[0]));
    EXPECT_EQ(found[1], std::numeric_limits<float>::infinity());
    EXPECT_TRUE(found[2] == 0 && std::signbit(found[2]));
    EXPECT_EQ(found[4], std::numeric_limits<float>::infinity());
  }
}

TEST(Reader, GivesWhatWasRecordedBesideTheGradients) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.world_size = 2;
  options.process_ranks = {1, 0};
  options.parameters = {parameter("a", {2}), parameter("b", {3})};
  Writer writer(directory / "dump.h5", options);
  const std::vector<float> zeros(3);
  const std::vector<std::vector<const float*>> gradients(2, {zeros.data(), zeros.data()});
  writer.append_step<float>(10, gradients);
  writer.append_step<float>(11, gradients, {{1024, 512}, {0.5, std::nan("")}, 4, {1, 0, 1, 1}});
  writer.append_step<float>(12, gradients);
  writer.close();
  const Reader reader({directory / "dump.h5"});
  EXPECT_EQ(reader.loss_scale(0, 0), 1);
  EXPECT_EQ(reader.loss_scale(1, 0), 512);
  EXPECT_EQ(reader.loss_scale(1, 1), 1024);
  EXPECT_EQ(reader.loss_scale(2, 1), 1);
  EXPECT_EQ(reader.loss(0, 1), std::nullopt);
  EXPECT_EQ(reader.loss(1, 1), 0.5);
  EXPECT_EQ(reader.loss(1, 0), std::nullopt);
  EXPECT_EQ(reader.accumulation(0), 1);
  EXPECT_EQ(reader.accumulation(1), 4);
  EXPECT_TRUE(reader.present(0, 0, 0));
  EXPECT_FALSE(reader.present(1, 1, 1));
  EXPECT_TRUE(reader.present(1, 0, 1));
  EXPECT_TRUE(reader.present(2, 1, 1));
}

TEST(Reader, DoesWithoutTheOptionalDatasets) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("a", {2})};
  test::write_dump(directory / "dump.h5", options, {0});
  raw::modify(directory / "dump.h5", [](hid_t file) { raw::ok(H5Ldelete(file, "loss_scale", H5P_DEFAULT)); });
  const Reader reader({directory / "dump.h5"});
  EXPECT_EQ(reader.loss_scale(0, 0), 1);
  EXPECT_EQ(reader.loss(0, 0), std::nullopt);
  EXPECT_EQ(reader.accumulation(0), 1);
  EXPECT_TRUE(reader.present(0, 0, 0));
}

TEST(Reader, DerivesTheLogicalTypeWhereItIsNotGiven) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("w", {4}, DType::bfloat16)};
  options.bfloat16_as_float = true;
  test::write_dump(directory / "dump.h5", options, {0});
  raw::modify(directory / "dump.h5", [](hid_t file) {
    raw::remove_attribute(raw::ok(H5Dopen2(file, "gradients/w", H5P_DEFAULT)), "logical_dtype");
  });
  Reader reader({directory / "dump.h5"});
  EXPECT_EQ(reader.description().parameters[0].dtype, DType::bfloat16);
  expect_reads_back<float>(reader);
}

TEST(Reader, TakesTheLengthOfStepsForWhatIsComplete) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("w", {4})};
  test::write_dump(directory / "dump.h5", options, {0, 1, 2});
  raw::modify(directory / "dump.h5", [](hid_t file) {
    const hsize_t two = 2;
    raw::ok(H5Dset_extent(raw::ok(H5Dopen2(file, "steps", H5P_DEFAULT)), &two));
    raw::set_integer(file, "complete", 0);
  });
  Reader reader({directory / "dump.h5"});
  EXPECT_EQ(reader.description().steps, (std::vector<std::int64_t>{0, 1}));
  EXPECT_FALSE(reader.description().complete);
  EXPECT_THAT(reader.description().notes, testing::ElementsAre(testing::HasSubstr("not closed properly")));
  expect_reads_back<float>(reader);
}

TEST(Reader, AcceptsTextOfFixedLengthAndOtherIntegers) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.world_size = 2;
  options.parameters = {parameter("w", {4})};
  test::write_dump(directory / "dump.h5", options, {0});
  raw::modify(directory / "dump.h5", [](hid_t file) {
    raw::set_attribute(file, "format", raw::text_type(20), {}, "psgd-gradients\0\0\0\0\0\0");
    const hid_t padded = raw::text_type(8);
    raw::ok(H5Tset_strpad(padded, H5T_STR_SPACEPAD));
    raw::set_attribute(file, "grad_kind", padded, {1}, "local   ");
    const std::uint8_t world = 2;
    raw::set_attribute(file, "world_size", H5T_STD_U8BE, {1}, &world);
    const hid_t boolean = raw::ok(H5Tenum_create(H5T_NATIVE_INT8));
    std::int8_t value = 0;
    raw::ok(H5Tenum_insert(boolean, "FALSE", &value));
    value = 1;
    raw::ok(H5Tenum_insert(boolean, "TRUE", &value));
    raw::set_attribute(file, "complete", boolean, {}, &value);
    struct Row {
      char name[8];
      std::int64_t bucket;
      std::int32_t offset;
    } const row{"w", 3, 0};
    const hid_t record = raw::ok(H5Tcreate(H5T_COMPOUND, sizeof(Row)));
    raw::ok(H5Tinsert(record, "offset", offsetof(Row, offset), H5T_NATIVE_INT32));
    raw::ok(H5Tinsert(record, "bucket", offsetof(Row, bucket), H5T_NATIVE_INT64));
    raw::ok(H5Tinsert(record, "name", offsetof(Row, name), raw::text_type(8)));
    raw::write_all(raw::replace_dataset(file, "parameters", record, {{1}}), record, &row);
  });
  Reader reader({directory / "dump.h5"});
  EXPECT_TRUE(reader.description().complete);
  EXPECT_EQ(reader.description().parameters[0].bucket, 3);
  expect_reads_back<float>(reader);
}

TEST(Reader, NotesANewerMinorVersion) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("w", {4})};
  test::write_dump(directory / "dump.h5", options, {0});
  raw::modify(directory / "dump.h5", [](hid_t file) { raw::set_integers(file, "format_version", {1, 7}); });
  const Reader reader({directory / "dump.h5"});
  EXPECT_THAT(reader.description().notes, testing::ElementsAre(testing::HasSubstr("layout 1.7")));
}

TEST(Reader, NotesWhatItLeavesOutAndWhatWasRounded) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("w", {4}, DType::float16)};
  test::write_dump(directory / "dump.h5", options, {0});
  raw::modify(directory / "dump.h5", [](hid_t file) {
    raw::set_text(raw::ok(H5Dopen2(file, "gradients/w", H5P_DEFAULT)), "logical_dtype", "float32");
    raw::replace_dataset(file, "gradients/other", H5T_IEEE_F32LE, {{1, 1, 3}});
  });
  Reader reader({directory / "dump.h5"});
  EXPECT_THAT(reader.description().notes,
              testing::UnorderedElementsAre(testing::HasSubstr("float16, which cannot hold all of float32"),
                                            testing::HasSubstr("does not list left out, the first \"other\"")));
  expect_reads_back<float>(reader);
}

TEST(Reader, HoldsToItsMemoryLimit) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.parameters = {parameter("w", {600, 600})};
  options.gzip = 1;
  test::write_dump(directory / "dump.h5", options, {0});
  try {
    const Reader reader({directory / "dump.h5"}, {1 << 20, false, 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_THAT(error.what(), testing::HasSubstr("memory limit of 1 MiB"));
  }
  Reader reader({directory / "dump.h5"}, {8 << 20, false, 2});
  EXPECT_LE(reader.working_bytes(), std::uint64_t{3} << 20);
  expect_reads_back<float>(reader);
}

}  // namespace
}  // namespace psgd::dump
