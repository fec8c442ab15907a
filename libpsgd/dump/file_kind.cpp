#include "libpsgd/dump/file_kind.hpp"

#include <array>
#include <fstream>
#include <string_view>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/dump/schema.hpp"

namespace psgd::dump {
namespace {

bool is_hdf5(const std::filesystem::path& path) {
  constexpr std::string_view signature("\x89HDF\r\n\x1a\n", 8);
  std::array<char, signature.size()> start{};
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) && std::string_view(start.data(), start.size()) == signature;
}

}  // namespace

FileKind file_kind(const std::filesystem::path& path) {
  if (!is_hdf5(path)) return FileKind::other;
  try {
    const auto file = hdf5::File::open(path);
    const bool recording =
        file.has_attribute(schema::attribute::format) && file.read_string(schema::attribute::format) == schema::format;
    return recording ? FileKind::recording : FileKind::hdf5;
  } catch (const Error&) {
    return FileKind::hdf5;
  }
}

}  // namespace psgd::dump
