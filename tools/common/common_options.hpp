#pragma once

#include <cstddef>
#include <string>

#include "libpsgd/base/log.hpp"
#include "tools/common/options.hpp"

namespace psgd::tools {

/// What every program can be told.
struct CommonOptions {
  bool quiet = false;
  std::size_t threads = 0;  ///< 0: all processors
  std::string progress = "auto";
  std::string log_level = "warning";

  [[nodiscard]] LogLevel log_level_value() const;
};

/// Adds the group; `common` has to outlive the options.
void add_common_options(Options& options, CommonOptions& common);

}  // namespace psgd::tools
