// Every way in which gradients may lie in a file.

#include <bit>
#include <random>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "libpsgd/dump/reader.hpp"
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

TEST(ReaderStorage, SplitsLargeTensorsIntoChunks) {
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

// Deflate makes them a little larger than they were.
TEST(ReaderStorage, ReadsChunksThatCannotBeCompressed) {
  const TemporaryDirectory directory;
  std::mt19937 random(1);
  std::vector<std::vector<float>> values;
  std::vector<const float*> pointers;
  WriterOptions options;
  for (const std::int64_t size : {1, 3, 20, 1000, 100000}) {
    options.parameters.push_back(parameter(std::to_string(size), {size}));
    std::vector<float>& tensor = values.emplace_back(static_cast<std::size_t>(size));
    for (float& value : tensor) value = std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x7F7FFFFF));
    pointers.push_back(tensor.data());
  }
  options.gzip = 1;
  options.fletcher32 = true;
  Writer writer(directory / "dump.h5", options);
  for (std::int64_t step = 0; step < 20; ++step) {
    writer.append_step<float>(step, std::vector<std::vector<const float*>>{pointers});
  }
  writer.close();
  Reader reader({directory / "dump.h5"});
  const GradientLayout layout = test::layout_all(reader.description());
  const auto found = test::read_step<float>(reader, 19, layout, {0})[0];
  for (const Bucket& bucket : layout.buckets) {
    for (const TensorSlot& slot : bucket.tensors) {
      for (std::int64_t i = 0; i < slot.numel; ++i) {
        ASSERT_EQ(found[static_cast<std::size_t>(slot.begin + i)], values[slot.parameter][static_cast<std::size_t>(i)]);
      }
    }
  }
}

// Chunks as another program may choose them: several steps and process ranks in one, cut along any axis.
TEST(ReaderStorage, ReadsChunksOfAnyShape) {
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

}  // namespace
}  // namespace psgd::dump
