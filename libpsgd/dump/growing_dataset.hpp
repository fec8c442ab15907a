#pragma once

#include <cstdint>
#include <string>

#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd::dump {

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

  /// A value for each record, in chunks of 1024.
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
  /// Writes `count` entries of a record's first axis, from `first` on.
  void write_rows(std::int64_t index, std::int64_t first, std::int64_t count, hid_t memory, const void* values);

 private:
  Shape record_;
  bool fixed_ = false;
  hdf5::Dataset dataset_;
};

}  // namespace psgd::dump
