#pragma once

#include <string>
#include <string_view>

#include "libpsgd/base/output_path.hpp"

namespace psgd {

/// A result file that appears whole or not at all.
///
/// A regular or new file is written under a temporary name in its own directory and renamed by commit(): until then,
/// and after any failure, a full disk included, the old file stays. The new file keeps the old one's permissions;
/// without one they follow the umask. Symbolic links are followed: the file a link leads to is replaced and the link
/// stays. Devices, FIFOs, "-" and /dev/stdout are written directly.
///
/// The temporary's name is ".NAME.PID-N.psgd-tmp", NAME the file's own, PID the writing process and N a counter. It is
/// removed unless the process is killed; one whose PID no longer runs may be deleted.
///
/// Errors are Error::input, "FILE: cannot write: WHY". When the reader of a pipe has gone away (`| head`) it is taken
/// to have what it wanted: the rest is dropped without an error. That needs SIGPIPE to be ignored, which is up to the
/// program.
class OutputFile {
 public:
  /// Opens; a FIFO waits for its reader. Throws Error::input when the file could not be written, so that this is known
  /// before a long computation.
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  /// Without commit() before: removes the temporary.
  ~OutputFile();

  /// Appends; buffered.
  void write(std::string_view text);

  /// Writes out what is buffered, and for a regular file makes it durable (fsync) and puts it in its place. No write
  /// may follow.
  void commit();

  /// As the user gave it, for messages; "-" is "standard output".
  [[nodiscard]] const std::string& shown_name() const noexcept { return shown_; }

  /// Where a library that opens files by name has to write (for a regular file the temporary, which exists and is
  /// empty). It has to be done with it before commit().
  [[nodiscard]] const std::string& writable_path() const noexcept;

  /// Whether it is a descriptor, device or FIFO: nothing is renamed and what was written cannot be taken back.
  [[nodiscard]] bool is_direct() const noexcept { return target_.kind != OutputPath::Kind::replace; }

 private:
  void open_temporary();
  void open_direct();
  void flush();
  void rename_into_place();
  void close_checked();
  void abandon() noexcept;
  [[noreturn]] void fail(int error) const;

  std::string shown_;
  OutputPath target_;
  std::string temporary_;  ///< empty: none to remove
  std::string buffer_;
  int descriptor_ = -1;
  bool owns_descriptor_ = false;
  bool reader_gone_ = false;
};

}  // namespace psgd
