#pragma once

#include <cstdint>
#include <string>

#include "libpsgd/dump/convert.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/dump/memory_order.hpp"
#include "libpsgd/dump/storage.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::dump {

/// How one parameter's gradients lie in one file: a dataset [T, R, *shape].
struct GradientDataset {
  enum class Route {
    library,  ///< HDF5 reads the values
    chunks,   ///< we fetch filtered chunks raw and undo deflate, shuffle and fletcher32 ourselves
  };

  std::string link;        ///< below /gradients
  Shape shape;             ///< of the tensor
  std::int64_t numel = 0;  ///< of the tensor
  StoredType stored;       ///< as the values lie in the file
  MemoryOrder order;       ///< as the caller wants them
  hdf5::Storage storage;
  Route route = Route::library;

  [[nodiscard]] bool is_filtered() const noexcept { return !storage.filters.empty(); }
};

/// What is expected of every dataset of a file.
struct RecordExtents {
  std::int64_t steps = 0;          ///< at least this many
  std::int64_t process_ranks = 0;  ///< exactly
};

/// Opens and checks the gradients of `parameter`, whose name is known; fills in its shape, type and memory format.
/// Reads no gradient. Throws Error::input for whatever layout v1 does not allow.
GradientDataset describe_gradients(const hdf5::Group& gradients, std::string link, hid_t access,
                                   const RecordExtents& extents, bool plugins_allowed, Parameter& parameter);

/// A dataset access property list for a cache that holds `bytes` of chunks. It is set always: the default differs
/// between versions of HDF5, and whole-chunk reads are fastest without a cache.
hdf5::Handle chunk_cache(const hdf5::Place& place, std::size_t bytes);

}  // namespace psgd::dump
