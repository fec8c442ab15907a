#include <numeric>
#include <string>
#include <vector>

#include "libpsgd/base/interrupt.hpp"
#include "libpsgd/dump/reader.hpp"
#include "libpsgd/replay/selection.hpp"
#include "tools/common/console.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-inspect/inspect_options.hpp"
#include "tools/psgd-inspect/inspection_report.hpp"

namespace psgd::tools::inspect {
namespace {

Inspection inspect(const InspectOptions& options, Progress& progress) {
  dump::ReaderOptions reader_options;
  reader_options.memory_limit = options.memory_limit;
  reader_options.threads = options.common.threads;
  dump::Reader reader(options.files, reader_options);

  Inspection result;
  result.dump = reader.description();
  std::vector<std::size_t> all(result.dump.parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  result.layout = layout_gradients(result.dump.parameters, all);
  result.step_pattern = step_pattern(result.dump.steps);
  result.training = read_training_record(reader);
  result.missing_process_ranks = replay::missing_process_ranks(result.dump);
  for (const std::int64_t rank : options.matrix_approximation_ranks) {
    result.plans.push_back(plan_rank(result.dump.parameters, result.layout, rank, options.min_compression_rate));
  }
  if (!options.no_data) result.survey = survey_gradients(reader, options.common.threads, progress, stop_requested);
  result.findings = find(result);
  return result;
}

int run(const std::vector<std::string>& arguments) {
  const auto options = parse_inspect_options(arguments);
  if (!options) return exit_done;
  Console console("psgd-inspect", options->common);
  std::vector<NamedOutput> outputs;
  if (options->results.json) outputs.push_back({"--json", *options->results.json});
  if (options->results.csv) outputs.push_back({"--csv", *options->results.csv});
  check_outputs(outputs, options->files);
  ResultFiles results(options->results);

  const Inspection inspection = inspect(*options, console.progress());
  results.write([&](const report::Sink& sink) { write_inspection_text(inspection, sink); },
                [&](const report::Sink& sink) { write_inspection_json(inspection, options->config, sink); },
                [&](const report::Sink& sink) { report::format("csv").write(parameter_table(inspection), sink); });
  return inspection.complete() ? exit_done : exit_interrupted;
}

}  // namespace
}  // namespace psgd::tools::inspect

int main(int argc, char** argv) { return psgd::tools::run_main("psgd-inspect", argc, argv, psgd::tools::inspect::run); }
