#include <string>
#include <vector>

#include "libpsgd/base/interrupt.hpp"
#include "libpsgd/replay/document.hpp"
#include "libpsgd/replay/replay.hpp"
#include "tools/common/console.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-replay/replay_options.hpp"
#include "tools/psgd-replay/replay_text.hpp"

namespace psgd::tools::replay {
namespace {

using psgd::replay::ReplayResult;

/// Every option, with what the dump and a loaded state decided in place of defaults.
report::Json full_config(const ReplayOptions& options, const ReplayResult& result) {
  report::Json config = options.config;
  config.update(psgd::replay::config_json(result.resolved));
  return config;
}

void write_json(const ReplayOptions& options, const ReplayResult& result, const report::Sink& sink) {
  report::JsonDocument document = psgd::replay::document(result);
  document.replace("config", full_config(options, result));
  document.write(sink);
}

int run(const std::vector<std::string>& arguments) {
  const auto options = parse_replay_options(arguments);
  if (!options) return exit_done;
  Console console("psgd-replay", options->common);
  check_outputs(options->outputs(), options->inputs());
  ResultFiles results(options->results);

  const ReplayResult result =
      psgd::replay::run_replay(options->spec, {console.log_sink(), &console.progress(), stop_requested});
  results.write(
      [&](const report::Sink& sink) { write_replay_text(result, sink); },
      [&](const report::Sink& sink) { write_json(*options, result, sink); },
      [&](const report::Sink& sink) { report::format("csv").write(psgd::replay::record_table(result), sink); });
  return result.complete ? exit_done : exit_interrupted;
}

}  // namespace
}  // namespace psgd::tools::replay

int main(int argc, char** argv) { return psgd::tools::run_main("psgd-replay", argc, argv, psgd::tools::replay::run); }
