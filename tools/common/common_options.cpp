#include "tools/common/common_options.hpp"

namespace psgd::tools {
namespace {

constexpr std::int64_t most_threads = 1024;

}  // namespace

LogLevel CommonOptions::log_level_value() const {
  if (log_level == "debug") return LogLevel::debug;
  return log_level == "info" ? LogLevel::info : LogLevel::warning;
}

void add_common_options(Options& options, CommonOptions& common) {
  options.group("Running")
      .add("threads", "N", integer(common.threads, 1, most_threads), "processors to use", "all")
      .add("progress", "auto|on|off", choice(common.progress, {"auto", "on", "off"}),
           "a progress bar on standard error; auto: when that is a terminal")
      .add("log-level", "LEVEL", choice(common.log_level, {"debug", "info", "warning"}),
           "least level of the lines logged on standard error: debug, info (what PyTorch's hooks log) or warning")
      .add_switch("quiet", common.quiet, "nothing on standard error but errors");
}

}  // namespace psgd::tools
