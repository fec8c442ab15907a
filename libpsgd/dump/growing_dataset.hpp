#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd::dump {

/// What the chunk of each of `datasets` small datasets may take while records are added: they all stay in memory until
/// they are full.
std::int64_t shared_chunk_bytes(std::size_t datasets);

/// How a dataset [records, *record] is stored.
struct DatasetForm {
  hid_t type = H5I_INVALID_HID;  ///< the caller keeps it alive
  Shape record;                  ///< extents of one record
  Shape chunk;                   ///< with the axis of records; empty: contiguous, and then `records` is fixed
  std::int64_t records = 0;      ///< at the start
  const void* fill = nullptr;    ///< one value of `type`; null: HDF5's default, zero
  bool shuffle = false;
  int gzip = 0;  ///< deflate level; 0: none
  bool fletcher32 = false;

  /// A value or a few for each record, in chunks of up to 1024 records.
  static DatasetForm series(hid_t type, const Shape& record = {});
};

/// A dataset that records are added to.
class GrowingDataset {
 public:
  GrowingDataset(hdf5::Group& parent, const std::string& name, const DatasetForm& form);

  [[nodiscard]] hdf5::Dataset& object() noexcept { return dataset_; }

  /// Makes room for `records` records; what is not written reads as the fill value.
  void extend(std::int64_t records);
  /// Writes a whole record, `values` being of the type `memory`.
  void write_record(std::int64_t index, hid_t memory, const void* values);
  /// Writes a part of a record: from `first` to `last` (exclusive) along its leading axes, whole along the others.
  void write_part(std::int64_t index, const Shape& first, const Shape& last, hid_t memory, const void* values);

 private:
  Shape record_;
  bool fixed_ = false;
  hdf5::Dataset dataset_;
};

}  // namespace psgd::dump
