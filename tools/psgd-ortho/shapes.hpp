#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/replay/ortho_spec.hpp"

namespace psgd::tools::ortho {

/// "4096x4" or, for twelve factors together, "4096x4x12": rows, columns and batch, none of them zero, rows at least as
/// many as columns. Throws BadValue saying what is wrong.
psgd::replay::FactorShape parse_shape(std::string_view text);

/// "4096x4x12", without a batch of 1.
std::string shape_text(const psgd::replay::FactorShape& shape);

/// A shape a line; blank lines and what follows a # are left out. Throws Error::input naming the file and the line.
std::vector<psgd::replay::FactorShape> read_shapes(const std::filesystem::path& file);

}  // namespace psgd::tools::ortho
