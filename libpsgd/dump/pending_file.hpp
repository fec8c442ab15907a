#pragma once

#include <filesystem>

namespace psgd::dump {

/// A file that is written under a temporary name beside its target and takes the target's place once it is whole.
///
/// Until commit() the target stays as it was; a PendingFile that is destroyed without it removes the temporary file.
class PendingFile {
 public:
  /// Follows symbolic links of `target` and reserves a name in its directory; creates nothing. Throws Error::input when
  /// the target is not a regular file (HDF5 cannot write to a device, FIFO or directory) or its directory cannot be
  /// written.
  explicit PendingFile(const std::filesystem::path& target);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  [[nodiscard]] const std::filesystem::path& target() const noexcept { return target_; }
  /// Where to write; close the file before commit().
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Brings the file to the disk and renames it, both synced. Throws Error::input when that fails; the target is then
  /// as it was.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  bool committed_ = false;
};

}  // namespace psgd::dump
