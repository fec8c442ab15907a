#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "libpsgd/dump/aligned_bytes.hpp"
#include "libpsgd/dump/storage.hpp"

struct libdeflate_decompressor;

namespace psgd::dump {

/// Undoes deflate, shuffle and fletcher32 on one chunk after another, in memory that it keeps; for one thread at a
/// time.
class ChunkDecoder {
 public:
  ChunkDecoder();
  ~ChunkDecoder();
  ChunkDecoder(const ChunkDecoder&) = delete;
  ChunkDecoder& operator=(const ChunkDecoder&) = delete;

  /// The storage.chunk_bytes bytes of the chunk whose stored form is `stored`; they live in this decoder (or in
  /// `stored`) until the next call. A filter whose bit is set in `filter_mask` was left out when the chunk was written.
  ///
  /// `direct` may point to storage.chunk_bytes bytes: the values are then there, which saves a copy, if the last filter
  /// to be undone can put them there. Otherwise, and after an exception, what lies there is not defined.
  ///
  /// Never writes more than storage.chunk_bytes and a few bytes, whatever the data claim. Throws Error::input, without
  /// the place, when a checksum or the compressed data are wrong or give another number of bytes.
  std::span<const std::byte> decode(const hdf5::Storage& storage, std::uint32_t filter_mask,
                                    std::span<const std::byte> stored, std::byte* direct = nullptr);

  [[nodiscard]] std::size_t capacity() const noexcept { return scratch_[0].capacity() + scratch_[1].capacity(); }
  void release() noexcept;

 private:
  std::span<const std::byte> inflate(std::span<const std::byte> data, std::size_t limit, std::byte* out);

  struct Free {
    void operator()(libdeflate_decompressor* decompressor) const noexcept;
  };
  std::unique_ptr<libdeflate_decompressor, Free> decompressor_;
  AlignedBytes scratch_[2];
};

/// HDF5's variant of Fletcher's checksum over `data`.
std::uint32_t fletcher32(std::span<const std::byte> data);

}  // namespace psgd::dump
