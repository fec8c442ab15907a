#include "libpsgd/dump/pending_file.hpp"

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/output_path.hpp"

namespace psgd::dump {
namespace {

/// Looks before the file is made: opening a FIFO would wait for its reader.
const std::filesystem::path& require_regular(const std::filesystem::path& target) {
  if (target == "-") throw Error::usage("HDF5 cannot be written to standard output (a file called - is spelled ./-)");
  if (resolve_output_path(target.string()).kind != OutputPath::Kind::replace) {
    throw Error::input("{}: cannot write: HDF5 can only be written to a regular file", target.string());
  }
  return target;
}

}  // namespace

PendingFile::PendingFile(const std::filesystem::path& target)
    : target_(require_regular(target)), file_(target.string()) {}

}  // namespace psgd::dump
