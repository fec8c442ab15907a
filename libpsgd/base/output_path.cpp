#include "libpsgd/base/output_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

constexpr int most_links = 40;  // as the kernel's own limit

[[noreturn]] void fail(const std::string& path, std::string_view why) {
  throw Error::input("{}: cannot write: {}", path, why);
}

std::optional<int> number_after(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return std::nullopt;
  const std::string digits(path.substr(prefix.size()));
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::atoi(digits.c_str());
}

/// Opening these anew would begin at the start of a file that the shell redirected to, so they are recognized by name.
std::optional<int> own_descriptor(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"}) {
    if (const auto number = number_after(path, prefix)) return number;
  }
  return number_after(path, fmt::format("/proc/{}/fd/", getpid()));
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string read_link(const std::string& path, const std::string& shown) {
  std::vector<char> buffer(PATH_MAX);
  const ssize_t length = readlink(path.c_str(), buffer.data(), buffer.size());
  if (length < 0) fail(shown, std::strerror(errno));
  std::string target(buffer.data(), static_cast<std::size_t>(length));
  return target.starts_with('/') ? target : directory_of(path) + "/" + target;
}

void describe_target(OutputPath& result, const struct stat& status, const std::string& shown) {
  if (S_ISDIR(status.st_mode)) fail(shown, "it is a directory");
  if (!S_ISREG(status.st_mode)) {
    result.kind = OutputPath::Kind::direct;
    return;
  }
  // Renaming over a file needs no permission on the file itself, but a write-protected one is meant to stay.
  if (faccessat(AT_FDCWD, result.target.c_str(), W_OK, AT_EACCESS) != 0) fail(shown, std::strerror(errno));
  result.exists = true;
  result.mode = status.st_mode & 07777U;
  result.owner = status.st_uid;
  result.group = status.st_gid;
}

void check_directory(const OutputPath& result, const std::string& shown) {
  struct stat status {};
  if (stat(result.directory.c_str(), &status) != 0) {
    fail(shown, fmt::format("directory {}: {}", result.directory, std::strerror(errno)));
  }
  if (!S_ISDIR(status.st_mode)) fail(shown, fmt::format("{} is not a directory", result.directory));
}

}  // namespace

OutputPath resolve_output_path(const std::string& path) {
  if (path.empty()) throw Error::input("cannot write to a file with an empty name");
  OutputPath result;
  result.target = path;
  for (int links = 0; links <= most_links; ++links) {
    if (const auto descriptor = own_descriptor(result.target)) {
      result.kind = OutputPath::Kind::descriptor;
      result.descriptor = *descriptor;
      return result;
    }
    result.directory = directory_of(result.target);
    struct stat status {};
    if (lstat(result.target.c_str(), &status) != 0) {
      if (errno != ENOENT) fail(path, std::strerror(errno));
      if (result.target.ends_with('/')) fail(path, "it names a directory");
      check_directory(result, path);
      return result;
    }
    if (!S_ISLNK(status.st_mode)) {
      describe_target(result, status, path);
      return result;
    }
    result.target = read_link(result.target, path);
  }
  fail(path, std::strerror(ELOOP));
}

}  // namespace psgd
