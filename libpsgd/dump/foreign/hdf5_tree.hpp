#pragma once

#include "libpsgd/dump/foreign/foreign_file.hpp"

namespace psgd::dump::foreign {

bool is_hdf5_tree(const std::filesystem::path& path, std::string_view beginning);

/// HDF5 files with an array for each gradient, at any depth of groups: the path below the root is the key. Links that
/// are not hard are left out, as are arrays that are no floating-point numbers: counters and names stand beside
/// gradients.
std::unique_ptr<File> open_hdf5_tree(const std::filesystem::path& path);

}  // namespace psgd::dump::foreign
