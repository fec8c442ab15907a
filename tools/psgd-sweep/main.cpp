#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/base/interrupt.hpp"
#include "libpsgd/base/output_file.hpp"
#include "libpsgd/replay/spectrum_document.hpp"
#include "libpsgd/replay/sweep_document.hpp"
#include "tools/common/console.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-sweep/sweep_options.hpp"
#include "tools/psgd-sweep/sweep_text.hpp"

namespace psgd::tools::sweep {
namespace {

int run(const std::vector<std::string>& arguments) {
  const auto options = parse_sweep_options(arguments);
  if (!options) return exit_done;
  Console console("psgd-sweep", options->common);
  check_outputs(options->outputs(), options->inputs());
  ResultFiles results(options->results);

  std::optional<OutputFile> spectrum_file;
  if (options->spectrum_csv) spectrum_file.emplace(options->spectrum_csv->string());

  const auto sweep = psgd::replay::run_sweep(
      options->configurations, {console.log_sink(), &console.progress(), stop_requested}, options->request);
  if (sweep.configurations.empty()) return exit_interrupted;
  const auto advice = psgd::replay::advise(sweep, options->advice);
  results.write([&](const report::Sink& sink) { write_sweep_text(sweep, advice, sink); },
                [&](const report::Sink& sink) {
                  report::JsonDocument document = psgd::replay::document(sweep, advice);
                  document.add("config", options->config);
                  document.write(sink);
                },
                [&](const report::Sink& sink) {
                  report::format("csv").write(psgd::replay::configuration_table(sweep, advice), sink);
                });
  if (spectrum_file) {
    report::format("csv").write(psgd::replay::spectrum_table(sweep),
                                [&](std::string_view piece) { spectrum_file->write(piece); });
    spectrum_file->commit();
  }
  return sweep.complete ? exit_done : exit_interrupted;
}

}  // namespace
}  // namespace psgd::tools::sweep

int main(int argc, char** argv) { return psgd::tools::run_main("psgd-sweep", argc, argv, psgd::tools::sweep::run); }
