#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace psgd {

/// What went wrong, as the caller has to react to it. The programs turn each into one exit code.
enum class ErrorKind {
  internal,     ///< a fault of ours (exit code 1)
  usage,        ///< an option or argument that makes no sense (exit code 2)
  input,        ///< a file that cannot be read, is not sound, or does not fit the request (exit code 3)
  unavailable,  ///< not possible on this machine: a part not built, no device, too little memory (exit code 4)
  interrupted,  ///< stopped by the user (exit code 130)
};

/// The only exception type libpsgd throws on purpose. `what()` is one line: what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

  template <class... Args>
  static Error internal(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::internal, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Error usage(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::usage, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Error input(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::input, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Error unavailable(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::unavailable, fmt::format(format, std::forward<Args>(args)...)};
  }

 private:
  ErrorKind kind_;
};

}  // namespace psgd
