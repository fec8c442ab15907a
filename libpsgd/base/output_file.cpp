#include "libpsgd/base/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/interrupt.hpp"

namespace psgd {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{64} << 10;
constexpr std::size_t longest_name = 255;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string temporary_name(const OutputPath& target) {
  static std::atomic<unsigned int> counter{0};
  const std::string suffix = fmt::format(".{}-{}.psgd-tmp", getpid(), counter++);
  std::string name = base_name(target.target);
  name.resize(std::min(name.size(), longest_name - 1 - suffix.size()));
  return target.directory + "/." + name + suffix;
}

/// Some file systems cannot sync a file or a directory and say so; that is no failure of ours.
bool sync_refused(int error) { return error == EINVAL || error == ENOTSUP || error == EROFS; }

/// For a pipe that whoever started us set to non-blocking.
void wait_until_writable(int descriptor) {
  pollfd waiting{descriptor, POLLOUT, 0};
  poll(&waiting, 1, -1);
}

void sync_directory(const std::string& directory) noexcept {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  // The rename is done and visible; only its durability after a power failure is at stake, so errors are not reported.
  [[maybe_unused]] const int ignored = fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

OutputFile::OutputFile(const std::string& path)
    : shown_(path == "-" ? "standard output" : path), target_(resolve_output_path(path)) {
  switch (target_.kind) {
    case OutputPath::Kind::descriptor:
      descriptor_ = target_.descriptor;
      break;
    case OutputPath::Kind::direct:
      open_direct();
      break;
    case OutputPath::Kind::replace:
      open_temporary();
      break;
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : shown_(std::move(other.shown_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      buffer_(std::exchange(other.buffer_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owns_descriptor_(std::exchange(other.owns_descriptor_, false)),
      reader_gone_(other.reader_gone_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  shown_ = std::move(other.shown_);
  target_ = std::move(other.target_);
  temporary_ = std::exchange(other.temporary_, {});
  buffer_ = std::exchange(other.buffer_, {});
  descriptor_ = std::exchange(other.descriptor_, -1);
  owns_descriptor_ = std::exchange(other.owns_descriptor_, false);
  reader_gone_ = other.reader_gone_;
  return *this;
}

OutputFile::~OutputFile() { abandon(); }

void OutputFile::open_direct() {
  do {
    descriptor_ = open(target_.target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0 && errno == EINTR && stop_requested()) {
      throw Error(ErrorKind::interrupted, fmt::format("{}: interrupted while waiting for its reader", shown_));
    }
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) fail(errno);
  owns_descriptor_ = true;
}

void OutputFile::open_temporary() {
  // Nobody may read the text of a private file in between, so the old file's mode is set before there is any text.
  const mode_t mode = target_.exists ? 0600 : 0666;
  for (;;) {
    std::string name = temporary_name(target_);
    descriptor_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor_ >= 0) {
      temporary_ = std::move(name);
      break;
    }
    if (errno != EEXIST && errno != EINTR) fail(errno);
  }
  owns_descriptor_ = true;
  if (!target_.exists) return;
  if (target_.owner != geteuid() || target_.group != getegid()) {
    [[maybe_unused]] const int ignored = fchown(descriptor_, target_.owner, target_.group);  // only root may
  }
  if (fchmod(descriptor_, target_.mode) != 0) {
    const int error = errno;
    abandon();
    fail(error);
  }
}

const std::string& OutputFile::writable_path() const noexcept {
  return target_.kind == OutputPath::Kind::replace ? temporary_ : target_.target;
}

void OutputFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= buffer_bytes) flush();
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && !reader_gone_) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      reader_gone_ = true;
    } else if (errno == EAGAIN) {
      wait_until_writable(descriptor_);
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (target_.kind == OutputPath::Kind::replace) {
    rename_into_place();
  } else {
    close_checked();
  }
}

void OutputFile::rename_into_place() {
  if (fsync(descriptor_) != 0 && !sync_refused(errno)) fail(errno);
  close_checked();
  if (std::rename(temporary_.c_str(), target_.target.c_str()) != 0) fail(errno);
  temporary_.clear();
  sync_directory(target_.directory);
}

void OutputFile::close_checked() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (!std::exchange(owns_descriptor_, false)) return;
  // Linux has closed it even when interrupted; anything else means that data may be lost.
  if (::close(descriptor) != 0 && errno != EINTR) fail(errno);
}

void OutputFile::abandon() noexcept {
  if (std::exchange(owns_descriptor_, false)) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

void OutputFile::fail(int error) const { throw Error::input("{}: cannot write: {}", shown_, std::strerror(error)); }

}  // namespace psgd
