#include "libpsgd/dump/reader.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

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

struct StorageCase {
  const char* name;
  bool shuffle;
  int gzip;
  bool fletcher32;
  bool contiguous;
};

constexpr StorageCase storages[] = {
    {"chunked", false, 0, false, false},
    {"contiguous", false, 0, false, true},
    {"gzip", false, 4, false, false},
    {"shuffle_gzip", true, 1, false, false},
    {"fletcher32", false, 0, true, false},
    {"shuffle", true, 0, false, false},
    {"shuffle_gzip_fletcher32", true, 1, true, false},
};

using Case = std::tuple<DType, bool, StorageCase>;

class ReaderMatrix : public testing::TestWithParam<Case> {};

// Every element type in either byte order and every kind of storage comes back exactly, as floats and as doubles.
TEST_P(ReaderMatrix, ReadsWhatWasWritten) {
  const auto& [dtype, big_endian, how] = GetParam();
  const TemporaryDirectory directory;
  WriterOptions options;
  options.world_size = 2;
  options.parameters = test::small_parameters(dtype);
  options.parameters.push_back(parameter("large.weight", {180, 410}, dtype));  // a chunk of its own
  options.big_endian = big_endian;
  options.bfloat16_as_float = how.shuffle;
  options.shuffle = how.shuffle;
  options.gzip = how.gzip;
  options.fletcher32 = how.fletcher32;
  options.contiguous_steps = how.contiguous ? 2 : 0;
  options.durable = false;
  test::write_dump(directory / "dump.h5", options, {4, 9});
  Reader reader({directory / "dump.h5"}, {0, false, 2});
  EXPECT_EQ(reader.description().dtype(), dtype);
  expect_reads_back<float>(reader);
  expect_reads_back<double>(reader);
}

std::string case_name(const testing::TestParamInfo<Case>& tested) {
  const auto& [dtype, big_endian, how] = tested.param;
  return fmt::format("{}_{}_{}", to_string(dtype), big_endian ? "be" : "le", how.name);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReaderMatrix,
                         testing::Combine(testing::Values(DType::float16, DType::bfloat16, DType::float32,
                                                          DType::float64),
                                          testing::Bool(), testing::ValuesIn(storages)),
                         case_name);

TEST(Reader, SplitsLargeTensorsIntoChunks) {
  const TemporaryDirectory directory;
  for (const bool filtered : {false, true}) {
    WriterOptions options;
    options.parameters = {parameter("w", {700, 1000}, filtered ? DType::float32 : DType::float64),
                          parameter("c", {64, 300, 3, 5}, DType::float16, MemoryFormat::channels_last)};
    options.gzip = filtered ? 1 : 0;
    const auto path = directory / (filtered ? "filtered.h5" : "plain.h5");
    test::write_dump(path, options, {0});
    Reader reader({path}, {0, false, 2});
    expect_reads_back<float>(reader);
    expect_reads_back<double>(reader);
  }
}

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

// Chunks as another program may choose them: several steps and process ranks in one, cut along any axis.
TEST(Reader, ReadsChunksOfAnyShape) {
  const TemporaryDirectory directory;
  WriterOptions options;
  options.world_size = 3;
  options.parameters = {parameter("w", {6, 5, 4})};
  test::write_dump(directory / "dump.h5", options, {0, 1, 2, 3, 4});
  std::vector<float> values;
  for (std::int64_t step = 0; step < 5; ++step) {
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      for (std::int64_t i = 0; i < 120; ++i) values.push_back(static_cast<float>(test::value_at(step, rank, 0, i)));
    }
  }
  const std::vector<std::vector<hsize_t>> chunks{{2, 2, 4, 5, 3}, {5, 3, 6, 5, 4}, {1, 3, 1, 5, 4}, {7, 1, 6, 2, 1}};
  for (const auto& chunk : chunks) {
    for (const int filters : {0, 1, 2, 3}) {
      raw::modify(directory / "dump.h5", [&](hid_t file) {
        const raw::Form form{{5, 3, 6, 5, 4}, {H5S_UNLIMITED, 3, 6, 5, 4}, chunk, [&](hid_t creation) {
                               if (filters == 1) raw::ok(H5Pset_deflate(creation, 1));
                               if (filters == 2) raw::ok(H5Pset_scaleoffset(creation, H5Z_SO_FLOAT_DSCALE, 4));
                               if (filters == 3) raw::ok(H5Pset_nbit(creation));
                             }};
        const hid_t dataset = raw::replace_dataset(file, "gradients/w", H5T_IEEE_F32LE, form);
        raw::write_all(dataset, H5T_NATIVE_FLOAT, values.data());
        raw::describe(dataset, "w");
      });
      Reader reader({directory / "dump.h5"}, {0, false, 2});
      expect_reads_back<float>(reader);
      expect_reads_back<double>(reader);
    }
  }
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
