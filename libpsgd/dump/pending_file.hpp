#pragma once

#include <filesystem>

#include "libpsgd/base/output_file.hpp"

namespace psgd::dump {

/// A result that HDF5 writes by name: an OutputFile that has to be a regular file.
class PendingFile {
 public:
  /// Makes the temporary, an empty file for hdf5::File::create. Throws Error::usage for "-", Error::input when the
  /// target is a device, FIFO or directory or could not be written.
  explicit PendingFile(const std::filesystem::path& target);

  /// As it was given, for messages.
  [[nodiscard]] const std::filesystem::path& target() const noexcept { return target_; }
  /// Where to write; the file has to be closed before commit().
  [[nodiscard]] std::filesystem::path path() const { return file_.writable_path(); }

  /// Brings the file to the disk and renames it. Throws Error::input when that fails; the target is then as it was.
  void commit() { file_.commit(); }

 private:
  std::filesystem::path target_;
  OutputFile file_;
};

}  // namespace psgd::dump
