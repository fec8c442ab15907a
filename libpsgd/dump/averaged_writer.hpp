#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::dump {

/// Writes what the hooks returned: `/steps` int64 [T] and `/averaged/<link>` [T, *shape], links as in the dump, float32
/// or float64 as T, in logical order (channels_last redone), with the attributes `name` and `memory_format`.
///
/// The file grows step by step under a temporary name beside the target, and takes the target's place in finish();
/// without it, or after an error, the target stays as it was. Symbolic links are followed; a target that is not a
/// regular file is refused. Every error (an unwritable path, a full disk) is Error::input and begins with the target's
/// path.
template <class T>
class AveragedWriter {
 public:
  /// `parameters` are the dump's; `layout` places those that are written. Creates the temporary file at once, so that a
  /// bad path shows before any work is done.
  AveragedWriter(const std::filesystem::path& target, std::span<const Parameter> parameters, GradientLayout layout);
  AveragedWriter(const AveragedWriter&) = delete;
  AveragedWriter& operator=(const AveragedWriter&) = delete;
  /// Removes the temporary file unless finished.
  ~AveragedWriter();

  /// `averaged`: layout.extent elements in memory order, as the hooks leave them.
  void append(std::int64_t step, std::span<const T> averaged);

  /// Marks the file (attribute `complete`), brings it to the disk and puts it in the target's place. Nothing may be
  /// appended afterwards.
  void finish(bool complete = true);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace psgd::dump
