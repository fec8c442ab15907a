#include <array>
#include <fstream>
#include <set>

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/foreign/foreign_file.hpp"
#include "libpsgd/dump/foreign/hdf5_tree.hpp"
#include "libpsgd/dump/foreign/npz.hpp"
#include "libpsgd/dump/foreign/safetensors.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump::foreign {
namespace {

constexpr std::array table{
    Format{"hdf5", "HDF5 with an array for each gradient, in groups or not", is_hdf5_tree, open_hdf5_tree},
    Format{"npz", "NumPy's archive of arrays", is_npz, open_npz},
    Format{"safetensors", "Hugging Face's format for tensors", is_safetensors, open_safetensors},
};

std::string beginning_of(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error::input("{}: {}", path.string(), error ? error.message() : "not a regular file");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(16, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && !file.eof())) throw Error::input("{}: cannot read", path.string());
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

void check_keys(const std::filesystem::path& path, const File& file) {
  std::set<std::string_view> keys;
  for (const Tensor& tensor : file.tensors()) {
    if (!keys.insert(tensor.key).second) {
      throw Error::input("{}: \"{}\" stands there twice", path.string(), make_printable(tensor.key));
    }
  }
}

}  // namespace

std::span<const Format> formats() { return table; }

std::unique_ptr<File> open(const std::filesystem::path& path) {
  const std::string beginning = beginning_of(path);
  std::vector<std::string_view> names;
  for (const Format& format : table) {
    names.push_back(format.name);
    if (!format.recognizes(path, beginning)) continue;
    std::unique_ptr<File> file = format.open(path);
    check_keys(path, *file);
    return file;
  }
  throw Error::input("{}: of no format known here ({})", path.string(), fmt::join(names, ", "));
}

}  // namespace psgd::dump::foreign
