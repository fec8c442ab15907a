#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/replay/ortho_spec.hpp"
#include "tools/common/common_options.hpp"
#include "tools/common/results.hpp"

namespace psgd::tools::ortho {

/// What psgd-ortho is asked to do.
struct OrthoOptions {
  psgd::replay::OrthoSpec spec;
  std::optional<std::filesystem::path> shapes_file;
  ResultOptions results;
  CommonOptions common;
  report::Json config;  ///< all options as JSON, spelled with underscores

  [[nodiscard]] std::vector<NamedOutput> outputs() const;
  [[nodiscard]] std::vector<std::filesystem::path> inputs() const;
};

/// Reads the command line and the file of shapes. Nothing is returned when it only asked for help or the version.
/// Throws Error::usage naming the option, Error::input for a file of shapes that cannot be read.
std::optional<OrthoOptions> parse_ortho_options(const std::vector<std::string>& arguments);

}  // namespace psgd::tools::ortho
