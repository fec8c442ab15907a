#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "libpsgd/dump/hdf5.hpp"

namespace psgd::dump::hdf5 {

/// A two-dimensional dataset [rows, length] whose rows lie apart in memory, T = float or double. Written and read row
/// by row, so that no second copy of it has to exist.
template <class T>
void write_rows(Group& group, const std::string& name, std::span<const T* const> rows, std::int64_t length);

/// The extents have to be [rows.size(), length] exactly and the type no wider than T. Throws Error::input otherwise.
template <class T>
void read_rows(const Group& group, const std::string& name, std::span<T* const> rows, std::int64_t length);

}  // namespace psgd::dump::hdf5
