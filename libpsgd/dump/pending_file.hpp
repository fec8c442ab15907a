#pragma once

#include <filesystem>
#include <string>

namespace psgd::dump {

/// A file for a library that writes by name: it grows under a temporary name beside its target and takes the target's
/// place once it is whole.
///
/// Until commit() the target stays as it was; a PendingFile that is destroyed without it removes the temporary file,
/// which is called ".NAME.PID-N.psgd-tmp". The new file keeps the old one's permissions.
class PendingFile {
 public:
  /// Follows symbolic links of `target` and chooses a name in its directory; creates nothing. Throws Error::input when
  /// the target is there and not a regular file (HDF5 cannot write to a device, FIFO or directory) or may not be
  /// written.
  explicit PendingFile(const std::filesystem::path& target);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  /// As it was given, for messages.
  [[nodiscard]] const std::filesystem::path& target() const noexcept { return shown_; }
  /// Where to write; the file has to be closed before commit().
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Brings the file to the disk and renames it. Throws Error::input when that fails; the target is then as it was.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path shown_;
  std::filesystem::path target_;
  std::filesystem::path path_;
  bool committed_ = false;
};

}  // namespace psgd::dump
