#include "libpsgd/dump/chunk_decoder.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <new>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/convert.hpp"

namespace psgd::dump {
namespace {

constexpr std::size_t checksum_bytes = 4;

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = checksum_bytes; i-- > 0;) value = value << 8U | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

// Files of HDF5 before 1.6.3 hold the sums of a big-endian machine's view: the bytes of both halves swapped.
std::uint32_t swap_halves(std::uint32_t sum) { return (sum & 0x00FF00FFU) << 8U | (sum & 0xFF00FF00U) >> 8U; }

std::span<const std::byte> check_fletcher32(std::span<const std::byte> data) {
  if (data.size() < checksum_bytes) throw Error::input("its checksum is cut off");
  const auto content = data.first(data.size() - checksum_bytes);
  const std::uint32_t expected = little_endian(data.last(checksum_bytes));
  const std::uint32_t sum = fletcher32(content);
  if (sum != expected && swap_halves(sum) != expected) {
    throw Error::input("its checksum (fletcher32) does not match: the data are damaged");
  }
  return content;
}

}  // namespace

// Source: H5_checksum_fletcher32 in HDF5's H5checksum.c. 16-bit words, high byte first; 360 of them cannot overflow 32
// bits.
std::uint32_t fletcher32(std::span<const std::byte> data) {
  constexpr std::size_t words_at_a_time = 360;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xFFFFU) + (sum >> 16U); };
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(data[i]); };
  std::uint32_t sum1 = 0;
  std::uint32_t sum2 = 0;
  const std::size_t words = data.size() / 2;
  for (std::size_t begin = 0; begin < words; begin += words_at_a_time) {
    const std::size_t end = std::min(words, begin + words_at_a_time);
    for (std::size_t i = begin; i < end; ++i) {
      sum1 += byte(2 * i) << 8U | byte(2 * i + 1);
      sum2 += sum1;
    }
    sum1 = fold(sum1);
    sum2 = fold(sum2);
  }
  if (data.size() % 2 != 0) {
    sum1 += byte(data.size() - 1) << 8U;
    sum2 += sum1;
    sum1 = fold(sum1);
    sum2 = fold(sum2);
  }
  return fold(sum2) << 16U | fold(sum1);
}

void ChunkDecoder::Free::operator()(libdeflate_decompressor* decompressor) const noexcept {
  libdeflate_free_decompressor(decompressor);
}

ChunkDecoder::ChunkDecoder() : decompressor_(libdeflate_alloc_decompressor()) {
  if (!decompressor_) throw std::bad_alloc();
}

ChunkDecoder::~ChunkDecoder() = default;

void ChunkDecoder::release() noexcept {
  scratch_[0].release();
  scratch_[1].release();
}

std::span<const std::byte> ChunkDecoder::inflate(std::span<const std::byte> data, std::size_t limit, std::byte* out) {
  std::size_t size = 0;
  switch (libdeflate_zlib_decompress(decompressor_.get(), data.data(), data.size(), out, limit, &size)) {
    case LIBDEFLATE_SUCCESS:
      return {out, size};
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      throw Error::input("it inflates to more than the {} bytes of a chunk", limit);
    default:
      throw Error::input("its compressed data are damaged");
  }
}

std::span<const std::byte> ChunkDecoder::decode(const hdf5::Storage& storage, std::uint32_t filter_mask,
                                                std::span<const std::byte> stored, std::byte* direct) {
  const auto is_used = [&](std::size_t i) { return (filter_mask >> i & 1U) == 0; };
  std::span<const std::byte> data = stored;
  std::size_t next = 0;
  for (std::size_t i = storage.filters.size(); i-- > 0;) {
    if (!is_used(i)) continue;
    const hdf5::Filter& filter = storage.filters[i];
    if (filter.id == H5Z_FILTER_FLETCHER32) {
      data = check_fletcher32(data);
      continue;
    }
    // What was done before this filter and is still to be undone: a checksum adds its bytes.
    std::size_t rest = 0;
    std::size_t checksums = 0;
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (!is_used(earlier)) continue;
      ++rest;
      if (storage.filters[earlier].id == H5Z_FILTER_FLETCHER32) ++checksums;
    }
    const std::size_t limit = storage.chunk_bytes + checksums * checksum_bytes;
    const bool shuffled = filter.id == H5Z_FILTER_SHUFFLE;
    const std::size_t needed = shuffled ? data.size() : limit;
    std::byte* out = direct;
    if (direct == nullptr || rest != 0 || needed > storage.chunk_bytes) {
      out = scratch_[next].reserve(needed);
      next ^= 1U;
    }
    if (shuffled) {
      unshuffle(data.data(), filter.element_size, data.size(), out);
      data = {out, data.size()};
    } else {
      data = inflate(data, limit, out);
    }
  }
  if (data.size() != storage.chunk_bytes) {
    throw Error::input("it holds {} bytes where a chunk has {}", data.size(), storage.chunk_bytes);
  }
  return data;
}

}  // namespace psgd::dump
