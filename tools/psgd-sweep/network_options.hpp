#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "libpsgd/replay/advice.hpp"
#include "tools/common/options.hpp"

namespace psgd::tools::sweep {

/// What the options about network, job and budgets are read into.
struct NetworkOptions {
  std::string network;
  std::optional<std::filesystem::path> network_file;
  double alpha = 0;
  double bandwidth = 0;
  std::string algorithm = "ring";
  std::int64_t world_size = 0;
  double forward_seconds = 0;
  double backward_seconds = 0;
  double compression_scale = 1;
  double error_budget = 0;
  double byte_budget = 0;
};

/// Adds their groups; `network` has to outlive the options.
void add_network_options(Options& options, NetworkOptions& network);

/// The network presets with their sources, for --help.
std::string network_help();

/// Throws Error::usage for options that contradict each other or lack one, Error::input for a network file that cannot
/// be read.
psgd::replay::AdviceOptions advice_options(const Options& options, const NetworkOptions& network);

}  // namespace psgd::tools::sweep
