#pragma once

#include "libpsgd/dump/foreign/foreign_file.hpp"

namespace psgd::dump::foreign {

bool is_npz(const std::filesystem::path& path, std::string_view beginning);

/// NumPy's .npz: a zip archive of .npy arrays (stored or deflated), versions 1 to 3 of the header, row-major. The
/// archive's name without ".npy" is the key.
std::unique_ptr<File> open_npz(const std::filesystem::path& path);

}  // namespace psgd::dump::foreign
