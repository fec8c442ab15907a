#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libpsgd/dump/description.hpp"
#include "libpsgd/dump/recorded_file.hpp"

namespace psgd::dump {

/// Several files seen as one recording.
struct Merged {
  struct Column {
    std::size_t file = 0;
    std::int64_t column = 0;
  };

  Description description;
  std::vector<Column> columns;                  ///< where each of description.process_ranks lies
  std::vector<std::vector<std::int64_t>> rows;  ///< [file][step index]: the record in that file
};

/// Checks that the files are parts of one recording: the same world, kind, parameters, shapes, types and buckets, no
/// process rank twice. Takes the steps that all of them hold and notes the others. Throws Error::input naming the file
/// that differs.
Merged merge(std::span<const RecordedFile> files);

}  // namespace psgd::dump
