#include "libpsgd/dump/chunk_decoder.hpp"

#include <libdeflate.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"

namespace psgd::dump {
namespace {

using Bytes = std::vector<std::byte>;

Bytes sample(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * i / 7);
  return bytes;
}

Bytes deflate(const Bytes& bytes) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  Bytes out(libdeflate_zlib_compress_bound(compressor, bytes.size()));
  out.resize(libdeflate_zlib_compress(compressor, bytes.data(), bytes.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

Bytes shuffle(const Bytes& bytes, std::size_t element) {
  Bytes out = bytes;
  const std::size_t count = bytes.size() / element;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < element; ++k) out[k * count + i] = bytes[i * element + k];
  }
  return out;
}

Bytes with_checksum(Bytes bytes) {
  const std::uint32_t sum = fletcher32(bytes);
  for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(sum >> shift));
  return bytes;
}

hdf5::Storage storage(std::size_t bytes, std::vector<hdf5::Filter> filters) {
  hdf5::Storage result;
  result.layout = hdf5::Storage::Layout::chunked;
  result.chunk_bytes = bytes;
  result.filters = std::move(filters);
  return result;
}

const hdf5::Filter shuffle4{H5Z_FILTER_SHUFFLE, "shuffle", 4};
const hdf5::Filter deflate1{H5Z_FILTER_DEFLATE, "deflate", 0};
const hdf5::Filter checksum{H5Z_FILTER_FLETCHER32, "fletcher32", 0};

Bytes decode(const hdf5::Storage& how, std::uint32_t mask, const Bytes& stored) {
  ChunkDecoder decoder;
  const auto values = decoder.decode(how, mask, stored);
  return {values.begin(), values.end()};
}

std::string failure(const hdf5::Storage& how, const Bytes& stored) {
  try {
    decode(how, 0, stored);
  } catch (const Error& error) {
    return error.what();
  }
  return "no failure";
}

TEST(ChunkDecoder, UndoesFiltersInAnyOrder) {
  const Bytes bytes = sample(1002);
  EXPECT_EQ(decode(storage(1002, {}), 0, bytes), bytes);
  EXPECT_EQ(decode(storage(1002, {shuffle4}), 0, shuffle(bytes, 4)), bytes);
  EXPECT_EQ(decode(storage(1002, {deflate1}), 0, deflate(bytes)), bytes);
  EXPECT_EQ(decode(storage(1002, {shuffle4, deflate1}), 0, deflate(shuffle(bytes, 4))), bytes);
  EXPECT_EQ(decode(storage(1002, {shuffle4, deflate1, checksum}), 0, with_checksum(deflate(shuffle(bytes, 4)))), bytes);
  EXPECT_EQ(decode(storage(1002, {checksum, deflate1}), 0, deflate(with_checksum(bytes))), bytes);
  EXPECT_EQ(decode(storage(1002, {checksum, shuffle4, deflate1}), 0, deflate(shuffle(with_checksum(bytes), 4))), bytes);
}

TEST(ChunkDecoder, PutsValuesWhereTheyAreWantedIfItCan) {
  const Bytes bytes = sample(1000);
  const auto is_direct = [&](const std::vector<hdf5::Filter>& filters, std::uint32_t mask, const Bytes& stored) {
    ChunkDecoder decoder;
    Bytes out(1000);
    const auto values = decoder.decode(storage(1000, filters), mask, stored, out.data());
    EXPECT_EQ(Bytes(values.begin(), values.end()), bytes);
    return values.data() == out.data();
  };
  EXPECT_TRUE(is_direct({shuffle4}, 0, shuffle(bytes, 4)));
  EXPECT_TRUE(is_direct({deflate1}, 0, deflate(bytes)));
  EXPECT_TRUE(is_direct({shuffle4, deflate1, checksum}, 0, with_checksum(deflate(shuffle(bytes, 4)))));
  EXPECT_TRUE(is_direct({shuffle4, deflate1}, 0b01, deflate(bytes)));
  EXPECT_FALSE(is_direct({shuffle4, deflate1}, 0b11, bytes));
  EXPECT_FALSE(is_direct({checksum, deflate1}, 0, deflate(with_checksum(bytes))));
  EXPECT_FALSE(is_direct({checksum}, 0, with_checksum(bytes)));
}

TEST(ChunkDecoder, LeavesOutWhatTheMaskNames) {
  const Bytes bytes = sample(1000);
  EXPECT_EQ(decode(storage(1000, {shuffle4, deflate1}), 0b10, shuffle(bytes, 4)), bytes);
  EXPECT_EQ(decode(storage(1000, {shuffle4, deflate1}), 0b01, deflate(bytes)), bytes);
  EXPECT_EQ(decode(storage(1000, {shuffle4, deflate1, checksum}), 0b111, bytes), bytes);
}

TEST(ChunkDecoder, ReportsDamage) {
  const Bytes bytes = sample(1000);
  Bytes flipped = with_checksum(bytes);
  flipped[500] ^= std::byte{1};
  EXPECT_THAT(failure(storage(1000, {checksum}), flipped), testing::HasSubstr("checksum"));
  EXPECT_THAT(failure(storage(1000, {checksum}), Bytes(3)), testing::HasSubstr("cut off"));
  Bytes damaged = deflate(bytes);
  damaged[damaged.size() / 2] ^= std::byte{64};
  EXPECT_THAT(failure(storage(1000, {deflate1}), damaged), testing::HasSubstr("damaged"));
  EXPECT_THAT(failure(storage(1000, {deflate1}), {}), testing::HasSubstr("damaged"));
  Bytes cut = deflate(bytes);
  cut.resize(cut.size() / 2);
  EXPECT_THAT(failure(storage(1000, {deflate1}), cut), testing::HasSubstr("damaged"));
}

TEST(ChunkDecoder, BoundsWhatComesOut) {
  const Bytes bomb = deflate(Bytes(std::size_t{10} << 20));
  EXPECT_LT(bomb.size(), 20000U);
  EXPECT_THAT(failure(storage(1000, {deflate1}), bomb), testing::HasSubstr("inflates to more than"));
  EXPECT_THAT(failure(storage(1000, {deflate1}), deflate(Bytes(999))), testing::HasSubstr("holds 999 bytes"));
  EXPECT_THAT(failure(storage(1000, {}), Bytes(1001)), testing::HasSubstr("holds 1001 bytes"));
}

// Values of HDF5's own H5_checksum_fletcher32.
TEST(Fletcher32, AgreesWithItsDefinition) {
  const auto sum = [](std::string_view text) { return fletcher32(std::as_bytes(std::span(text.data(), text.size()))); };
  EXPECT_EQ(sum(""), 0U);
  EXPECT_EQ(sum("a"), 0x61006100U);
  EXPECT_EQ(sum("ab"), 0x61626162U);
  EXPECT_EQ(sum("abc"), 0x25C5C462U);
}

}  // namespace
}  // namespace psgd::dump
