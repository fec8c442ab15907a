#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libpsgd/replay/spec.hpp"
#include "tools/common/common_options.hpp"
#include "tools/common/results.hpp"

namespace psgd::tools::replay {

/// What psgd-replay is asked to do.
struct ReplayOptions {
  psgd::replay::ReplaySpec spec;
  ResultOptions results;
  CommonOptions common;
  std::optional<std::string> config_file;
  report::Json config;  ///< all options as JSON, spelled with underscores

  /// Every file that is to be written, with the option that names it.
  [[nodiscard]] std::vector<NamedOutput> outputs() const;
  /// Every file that must not be written to. (A state may be replaced by the one it grew to.)
  [[nodiscard]] std::vector<std::filesystem::path> inputs() const;
};

/// Reads the command line. Nothing is returned when it only asked for help or the version. Throws Error::usage naming
/// the option, also for one given explicitly that the original hook contradicts.
std::optional<ReplayOptions> parse_replay_options(const std::vector<std::string>& arguments);

}  // namespace psgd::tools::replay
