#pragma once

#include <filesystem>

namespace psgd::dump {

/// What a file is, as far as its beginning and its attribute `format` say; nothing more of it is looked at.
enum class FileKind {
  other,      ///< not HDF5, or not there
  hdf5,       ///< HDF5, a damaged recording included
  recording,  ///< a dump of gradients in layout v1
};

/// Throws nothing: what cannot be read is FileKind::other.
FileKind file_kind(const std::filesystem::path& path);

}  // namespace psgd::dump
