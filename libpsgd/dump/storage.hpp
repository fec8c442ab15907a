#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/tensor/shape.hpp"

/// How a dataset's values lie in its file, and what of that is refused. Files come from strangers: all of this is
/// looked at before a value is read.
namespace psgd::dump::hdf5 {

/// A stage that chunks went through when they were written.
struct Filter {
  H5Z_filter_t id = 0;
  std::string name;
  std::uint32_t element_size = 0;  ///< of shuffle: bytes of what it took for one element
};

struct Storage {
  enum class Layout { compact, contiguous, chunked };

  Layout layout = Layout::contiguous;
  std::size_t element_size = 0;  ///< bytes
  Shape chunk;                   ///< extents of a chunk; empty unless chunked
  std::size_t chunk_bytes = 0;   ///< of one chunk before filters; 0 unless chunked
  std::vector<Filter> filters;   ///< in the order in which they were applied
  bool partial_chunks_unfiltered = false;
};

/// The largest chunk that is read, before filters: a small file can inflate to no more than this at a time.
inline constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 30;

/// Throws Error::input when the values lie in other files: external storage or a virtual dataset.
void refuse_outside_storage(const Dataset& dataset);

/// Throws Error::input for chunks beyond `largest_chunk` or chunks that do not fit the dataset's dimensions.
Storage read_storage(const Dataset& dataset);

/// Throws Error::input, saying how to repack, for a filter that HDF5 does not bring itself, unless plug-ins are allowed
/// and there is one for it.
void require_known_filters(const Dataset& dataset, const Storage& storage, bool plugins_allowed);

/// The origin of the first chunk between `begin` and `end` (exclusive) that the file does not hold, so that reading it
/// would give the fill value. Without chunks: the origin of the dataset when nothing of it was written.
std::optional<Shape> first_unwritten(const Dataset& dataset, const Storage& storage, const Shape& begin,
                                     const Shape& end);

/// Throws Error::input naming the place unless everything between `begin` and `end` was written.
void require_written(const Dataset& dataset, const Storage& storage, const Shape& begin, const Shape& end);

/// Bytes that the chunk at `origin` takes in the file; 0 when it was never written.
std::uint64_t stored_chunk_bytes(const Dataset& dataset, const Shape& origin);

/// Reads the chunk at `origin` as it is stored, stored_chunk_bytes() bytes; returns its filter mask (a set bit: that
/// filter was left out).
std::uint32_t read_stored_chunk(const Dataset& dataset, const Shape& origin, std::byte* out);

/// Calls visit(origin) for each chunk that meets the box from `begin` to `end` (exclusive), in row-major order, until
/// it returns false. `chunk` has no zero extent.
template <class Visit>
void for_each_chunk(const Shape& chunk, const Shape& begin, const Shape& end, Visit&& visit) {
  Shape origin(chunk.size());
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    if (begin[axis] >= end[axis]) return;
    origin[axis] = begin[axis] / chunk[axis] * chunk[axis];
  }
  for (;;) {
    if (!visit(std::as_const(origin))) return;
    std::size_t axis = chunk.size();
    for (; axis > 0; --axis) {
      std::int64_t& position = origin[axis - 1];
      position += chunk[axis - 1];
      if (position < end[axis - 1]) break;
      position = begin[axis - 1] / chunk[axis - 1] * chunk[axis - 1];
    }
    if (axis == 0) return;
  }
}

/// Reads the box from `begin` to `end` (exclusive) into `out`, converting to the type `memory`. The memory side has the
/// dataset's own number of dimensions: a flat one reads chunked data at an eightieth of the speed.
void read_box(const Dataset& dataset, hid_t memory, const Shape& begin, const Shape& end, void* out);

/// Writes such a box.
void write_box(Dataset& dataset, hid_t memory, const Shape& begin, const Shape& end, const void* values);

/// "64-bit signed integers", for errors.
std::string describe_type(hid_t type);

/// Takes the padding off text of fixed length. Throws Error::input when a NUL character stands inside.
std::string strip_padding(std::string text, hid_t type, const Place& place);

/// UTF-8 text of variable length, as h5py writes it.
Handle variable_text_type(const Place& place);

}  // namespace psgd::dump::hdf5
