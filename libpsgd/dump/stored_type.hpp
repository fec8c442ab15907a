#pragma once

#include <optional>

#include "libpsgd/dump/convert.hpp"
#include "libpsgd/dump/hdf5.hpp"

namespace psgd::dump {

/// Whether numbers in this order have to be turned around on this machine.
bool is_swapped(H5T_order_t order);

/// Which of the floating-point types that gradients may have `type` is, by the fields of its description; nothing for
/// any other.
std::optional<StoredType> recognize_float(const hdf5::Dataset& dataset, hid_t type);

}  // namespace psgd::dump
