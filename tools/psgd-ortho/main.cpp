#include <string>
#include <vector>

#include "libpsgd/base/interrupt.hpp"
#include "libpsgd/replay/ortho_document.hpp"
#include "libpsgd/replay/ortho_study.hpp"
#include "tools/common/console.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-ortho/ortho_options.hpp"
#include "tools/psgd-ortho/ortho_text.hpp"

namespace psgd::tools::ortho {
namespace {

int run(const std::vector<std::string>& arguments) {
  const auto options = parse_ortho_options(arguments);
  if (!options) return exit_done;
  Console console("psgd-ortho", options->common);
  check_outputs(options->outputs(), options->inputs());
  ResultFiles results(options->results);

  const auto result = psgd::replay::run_ortho(options->spec, {console.log_sink(), &console.progress(), stop_requested});
  if (result.records.empty()) return exit_interrupted;
  const auto advice = psgd::replay::advise_ortho(options->spec, result);
  results.write(
      [&](const report::Sink& sink) { write_ortho_text(result, advice, sink); },
      [&](const report::Sink& sink) {
        report::JsonDocument document = psgd::replay::document(result, advice);
        document.add("config", options->config);
        document.write(sink);
      },
      [&](const report::Sink& sink) { report::format("csv").write(psgd::replay::ortho_table(result), sink); });
  return result.complete ? exit_done : exit_interrupted;
}

}  // namespace
}  // namespace psgd::tools::ortho

int main(int argc, char** argv) { return psgd::tools::run_main("psgd-ortho", argc, argv, psgd::tools::ortho::run); }
