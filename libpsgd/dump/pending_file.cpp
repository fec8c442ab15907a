#include "libpsgd/dump/pending_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "libpsgd/base/error.hpp"

namespace psgd::dump {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as the kernel's own limit
constexpr std::size_t longest_name = 255;

/// A descriptor that is closed on every way out.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

fs::path follow_links(fs::path path) {
  for (int links = 0; fs::is_symlink(fs::symlink_status(path)); ++links) {
    if (links == most_links)
      throw Error::input("{}: cannot write: {}", path.string(), std::generic_category().message(ELOOP));
    const fs::path next = fs::read_symlink(path);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

fs::path temporary_beside(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  const std::string suffix = fmt::format(".{}-{}.psgd-tmp", getpid(), counter++);
  const std::string name = target.filename().string().substr(0, longest_name - 1 - suffix.size());
  return target.parent_path() / ("." + name + suffix);
}

// Some file systems cannot sync and say so, which is no failure of ours.
bool sync(int descriptor) { return fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS; }

}  // namespace

PendingFile::PendingFile(const fs::path& target) : shown_(target) {
  if (target == "-") throw Error::usage("HDF5 cannot be written to standard output (a file called - is spelled ./-)");
  std::error_code error;
  try {
    target_ = follow_links(target);
  } catch (const fs::filesystem_error& failure) {
    throw Error::input("{}: cannot write: {}", shown_.string(), failure.code().message());
  }
  const fs::file_status status = fs::status(target_, error);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) {
      throw Error::input("{}: cannot write: it is a {}, and HDF5 can only be written to a regular file",
                         shown_.string(), fs::is_directory(status) ? "directory" : "device or pipe");
    }
    // A rename needs no permission on the file that it replaces, but a write-protected one is meant to stay.
    if (faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
  }
  if (target_.filename().empty()) throw Error::input("{}: cannot write: it names no file", shown_.string());
  path_ = temporary_beside(target_);
}

PendingFile::~PendingFile() {
  if (!committed_) unlink(path_.c_str());
}

void PendingFile::commit() {
  {
    const Descriptor file(path_, O_RDWR);
    if (file.get() < 0) fail(errno);
    if (struct stat old{}; stat(target_.c_str(), &old) == 0) {
      [[maybe_unused]] const int ignored = fchown(file.get(), old.st_uid, old.st_gid);  // only root may
      if (fchmod(file.get(), old.st_mode & 07777U) != 0) fail(errno);
    }
    if (!sync(file.get())) fail(errno);
  }
  if (std::rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  committed_ = true;
  // The rename is done and visible; only whether it survives a power failure is at stake now.
  const fs::path directory = target_.parent_path();
  const Descriptor entry(directory.empty() ? fs::path(".") : directory, O_RDONLY | O_DIRECTORY);
  if (entry.get() >= 0) sync(entry.get());
}

void PendingFile::fail(int error) const {
  throw Error::input("{}: cannot write: {}", shown_.string(), std::generic_category().message(error));
}

}  // namespace psgd::dump
