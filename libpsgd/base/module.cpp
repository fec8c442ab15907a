#include "libpsgd/base/module.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

std::vector<std::string> candidates(const std::string& file) {
  std::vector<std::string> paths;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path folder = program.parent_path();
    for (const std::filesystem::path& path : {folder / file, folder.parent_path() / "lib" / "psgd" / file}) {
      if (std::filesystem::exists(path, error)) paths.push_back(path.string());
    }
  }
  paths.push_back(file);
  return paths;
}

}  // namespace

Module::Module(std::string_view name, std::string_view hint) : file_(fmt::format("libpsgd_{}.so", name)) {
  std::string reason;
  for (const std::string& path : candidates(file_)) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* const message = dlerror();
    reason = message != nullptr ? message : "unknown reason";
  }
  throw Error::unavailable("the {} module is not available here: {} ({})", name, hint, reason);
}

void* Module::address(const char* symbol) const {
  void* const found = dlsym(handle_, symbol);
  if (found == nullptr)
    throw Error::unavailable("{} does not offer {}: it belongs to another version of psgd", file_, symbol);
  return found;
}

}  // namespace psgd
