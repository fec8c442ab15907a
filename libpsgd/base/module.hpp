#pragma once

#include <string>
#include <string_view>

namespace psgd {

/// A part of the library that is loaded when it is first asked for, because its own libraries are large or often absent
/// (CUDA, MPI).
///
/// Looked for beside the running program (../lib/psgd and the program's folder, for builds and installations), then
/// where the dynamic loader looks. A loaded module stays until the process ends.
class Module {
 public:
  /// `name`: "cuda" for libpsgd_cuda.so. Throws Error::unavailable when it is not there or does not load; `hint` says
  /// how to get it.
  Module(std::string_view name, std::string_view hint);

  /// Throws Error::unavailable when the module does not have the symbol: it is of another version.
  template <class Function>
  [[nodiscard]] Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(address(symbol));
  }

 private:
  [[nodiscard]] void* address(const char* symbol) const;

  std::string file_;
  void* handle_ = nullptr;
};

}  // namespace psgd
