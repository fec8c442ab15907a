#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/common_options.hpp"
#include "tools/common/results.hpp"

namespace psgd::tools::inspect {

/// What psgd-inspect is asked to do.
struct InspectOptions {
  std::vector<std::filesystem::path> files;
  std::vector<std::int64_t> matrix_approximation_ranks{1, 2, 4, 8, 16, 32};
  double min_compression_rate = 2;
  bool no_data = false;            ///< look at what describes the gradients only
  std::uint64_t memory_limit = 0;  ///< bytes; 0: none
  ResultOptions results;
  CommonOptions common;
  report::Json config;  ///< all options as JSON
};

/// Reads the command line. Nothing is returned when it only asked for help or the version.
std::optional<InspectOptions> parse_inspect_options(const std::vector<std::string>& arguments);

}  // namespace psgd::tools::inspect
