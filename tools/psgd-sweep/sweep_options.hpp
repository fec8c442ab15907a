#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/replay/advice.hpp"
#include "tools/common/common_options.hpp"
#include "tools/common/results.hpp"

namespace psgd::tools::sweep {

/// What psgd-sweep is asked to do.
struct SweepOptions {
  std::vector<psgd::replay::ReplaySpec> configurations;
  psgd::replay::SweepRequest request;
  psgd::replay::AdviceOptions advice;
  ResultOptions results;
  std::optional<std::filesystem::path> spectrum_csv;
  CommonOptions common;
  report::Json config;  ///< all options as JSON, spelled with underscores

  [[nodiscard]] std::vector<NamedOutput> outputs() const;
  [[nodiscard]] const std::vector<std::filesystem::path>& inputs() const { return configurations.front().files; }
};

/// Reads the command line. Nothing is returned when it only asked for help or the version. Throws Error::usage naming
/// the option, or the combination of the grid that contradicts itself.
std::optional<SweepOptions> parse_sweep_options(const std::vector<std::string>& arguments);

}  // namespace psgd::tools::sweep
