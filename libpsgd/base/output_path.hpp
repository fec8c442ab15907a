#pragma once

#include <string>

namespace psgd {

/// What a path given for output stands for, symbolic links followed.
struct OutputPath {
  enum class Kind {
    descriptor,  ///< an open one of this process: "-", /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N
    direct,      ///< a device, FIFO or socket that exists
    replace,     ///< a regular file, or nothing yet: to be written beside and renamed
  };

  Kind kind = Kind::replace;
  int descriptor = -1;     ///< for Kind::descriptor
  std::string target;      ///< where the links lead; the file that is replaced or opened
  std::string directory;   ///< that holds the target
  bool exists = false;     ///< for Kind::replace
  unsigned int mode = 0;   ///< permission bits of the existing file
  unsigned int owner = 0;  ///< of the existing file
  unsigned int group = 0;  ///< of the existing file
};

/// Looks only; nothing is opened. Throws Error::input for directories, for loops of links, for a missing or unreachable
/// directory and for an existing file without write permission.
OutputPath resolve_output_path(const std::string& path);

}  // namespace psgd
