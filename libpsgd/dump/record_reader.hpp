#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/crew.hpp"
#include "libpsgd/dump/recorded_file.hpp"

namespace psgd::dump {

/// Where one process rank's gradient of a parameter goes.
template <class T>
struct Target {
  std::int64_t column = 0;  ///< of the process rank, in the file
  T* tensor = nullptr;      ///< numel elements, memory order
};

/// The most bytes that a single piece of work for the crew can need to read this file: a chunk on its way through its
/// filters, or a piece that is converted.
std::uint64_t largest_work(const RecordedFile& file);

/// Reads gradients of one file, T = float or double. The library is called on the caller's thread only; inflating and
/// converting is work for the crew, whose finish() has to be called before the values are looked at.
class RecordReader {
 public:
  /// Keeps up to `most_open` datasets open between calls.
  RecordReader(const RecordedFile& file, Crew& crew, std::size_t most_open);

  /// Reads record `row` of a parameter for each target. Throws Error::input for what was never written or cannot be
  /// read.
  template <class T>
  void read(std::size_t parameter, std::int64_t row, std::span<const Target<T>> targets);

 private:
  const hdf5::Dataset& open(std::size_t parameter, hdf5::Dataset& transient);
  void check_written(std::size_t parameter, const hdf5::Dataset& dataset, std::int64_t row, std::int64_t column) const;
  [[nodiscard]] std::string where(std::size_t parameter, std::int64_t row, std::int64_t column) const;
  [[nodiscard]] Error never_written(std::size_t parameter, std::int64_t row, std::int64_t column) const;

  template <class T>
  void read_chunks(std::size_t parameter, const hdf5::Dataset& dataset, std::int64_t row,
                   std::span<const Target<T>> targets);
  template <class T>
  void read_chunk(std::size_t parameter, const hdf5::Dataset& dataset, std::int64_t row, const Shape& origin,
                  std::vector<Target<T>> targets);
  template <class T>
  void read_whole(std::size_t parameter, const hdf5::Dataset& dataset, std::int64_t row, const Target<T>& target);
  template <class T>
  void read_in_pieces(std::size_t parameter, const hdf5::Dataset& dataset, std::int64_t row, const Target<T>& target);

  const RecordedFile& file_;
  Crew& crew_;
  hdf5::Handle access_;
  std::vector<hdf5::Dataset> open_;  // of the first parameters; the others are opened when they are read
};

}  // namespace psgd::dump
