#include "tools/psgd-ortho/ortho_options.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "libpsgd/replay/ortho_inputs.hpp"
#include "tools/common/entries.hpp"
#include "tools/common/list_settings.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-ortho/shapes.hpp"

namespace psgd::tools::ortho {
namespace {

using psgd::replay::FactorShape;
using psgd::replay::OrthoSpec;
using psgd::replay::ReplaySpec;

constexpr std::string_view summary =
    "Times and judges methods that make the columns of tall factors orthonormal, on the shapes given or on all P and "
    "Q\n"
    "that a dump's gradients have in PowerSGD, and recommends one.";

constexpr std::string_view help_results =
    "Results: a table of times and of ‖QᵀQ - I‖ (Frobenius norm, the largest of a batch) and the advice on standard\n"
    "output. --json writes one object: schema \"psgd-ortho\", version 1; complete; columns and records, a row per\n"
    "method, shape, type and input; advice {recommended, tolerance, seconds, pytorch_seconds, reasons, crossovers\n"
    "[{rows, dtype, method, overtakes, cols}], steps [{rank, step_seconds}], shares [{rank, method, seconds, "
    "share}]};\n"
    "config: every option. --csv writes the records.\n"
    "  seconds               of a whole batch, median over repetitions; seconds_spread: interquartile range\n"
    "  gigabytes_per_second  the factors read and written once each, in that time\n"
    "  gigaflops_per_second  Householder's 4 rows cols^2 - 4/3 cols^3 in that time, whatever the method counts itself\n"
    "  orthogonality         ‖QᵀQ - I‖_F\n"
    "  residual              ‖A - Q QᵀA‖_F / ‖A‖_F\n"
    "  subspace_sine         of the largest principal angle to Householder QR in float64; none without full rank\n"
    "  rank                  that a replayed factor comes from\n\n"
    "Examples:\n"
    "  psgd-ortho --shapes 65536x8,4096x4x24\n"
    "  psgd-ortho -r 1,2,4,8 --json study.json run.h5\n\n";

std::string epilogue() {
  return table_of("Methods:", orthogonalize::methods()) + "\n" + table_of("Inputs:", psgd::replay::ortho_inputs()) +
         fmt::format("  {:<22}the P of the dump's last step, as they arise in its replay\n", psgd::replay::replay_p) +
         fmt::format("  {:<22}the Q\n\n", psgd::replay::replay_q) + std::string(help_results) + exit_code_help();
}

std::vector<std::string> input_names() {
  std::vector<std::string> names = names_of(psgd::replay::ortho_inputs());
  names.emplace_back(psgd::replay::replay_p);
  names.emplace_back(psgd::replay::replay_q);
  return names;
}

Setting shape_list(std::vector<FactorShape>& target) {
  return tools::list_of(
      target, [](const std::string& text) { return parse_shape(text); },
      [](const FactorShape& shape) { return report::Json(shape_text(shape)); });
}

void add_shapes(Options& options, OrthoOptions& result) {
  options.group("Shapes, instead of a dump or beside it")
      .add("shapes", "RxC[xB],...", shape_list(result.spec.shapes), "rows, columns and, beyond 1, factors in a batch",
           "none")
      .add("shapes-file", "FILE", file(result.shapes_file), "a shape a line; # begins a comment");
}

void add_dump(Options& options, ReplaySpec& replay, std::vector<std::int64_t>& ranks) {
  options.group("Input")
      .add("matrix-approximation-rank,r", "N,...", integers(ranks, 1, std::numeric_limits<std::int32_t>::max()),
           "columns of the factors P and Q; the dump is replayed at each", "1,2,4,8")
      .add("hook", "powersgd|batched", choice(replay.hook, {"powersgd", "batched"}), "the compressor")
      .add("start-powerSGD-iter", "N", integer(replay.power_sgd.start_powerSGD_iter, 0),
           "replayed steps averaged uncompressed first")
      .add("min-compression-rate", "X", number(replay.power_sgd.min_compression_rate, 0),
           "a tensor is compressed when (rows + cols) * N * X < rows * cols")
      .add("steps", "FIRST:LAST", range(replay.steps), "recorded step numbers, both included; the last one's are kept",
           "all")
      .add("process-ranks", "LIST", integer_list(replay.process_ranks), "recorded ids", "all, which must be there")
      .add("parameters", "GLOB,...", globs(replay.parameters), "only parameters whose name matches a pattern", "all")
      .add("exclude", "GLOB,...", globs(replay.exclude), "all but these", "none")
      .add("memory-limit", "SIZE", size(replay.memory_limit), "most memory for gradients and states", "none");
}

void add_study(Options& options, OrthoSpec& spec) {
  options.group("How")
      .add("methods", "NAME,...", choices(spec.methods, names_of(orthogonalize::methods())), "those below", "all")
      .add("inputs", "NAME,...", choices(spec.inputs, input_names()), "kinds of factors, those below", "all")
      .add("dtype", "NAME,...",
           named_values<DType>(spec.dtypes, {{"float32", DType::float32}, {"float64", DType::float64}}),
           "computing types", "float32, float64 for float64 dumps")
      .add("repetitions", "N", integer(spec.repetitions, 1, 1'000'000), "of every timing; methods take turns")
      .add("tolerance", "X", number(spec.tolerance, 0), "most ‖QᵀQ - I‖ of a method that is recommended",
           "1e-5 in float32, 1e-13 in float64")
      .add("random-seed", "N", integer(spec.seed, 0, std::numeric_limits<std::uint32_t>::max()),
           "of the random factors")
      .add("backend", "cpu|cuda", choice(spec.backend, {"cpu", "cuda"}), "where factors are computed");
}

/// What options contradict each other, and what belongs to a dump without one.
void check(const Options& options, const OrthoSpec& spec, bool dump) {
  if (dump) return;
  for (const char* name : {"matrix-approximation-rank", "hook", "start-powerSGD-iter", "min-compression-rate", "steps",
                           "process-ranks", "parameters", "exclude", "memory-limit"}) {
    if (options.given(name)) throw Error::usage("--{} needs a dump, and none was named", name);
  }
  if (spec.shapes.empty()) {
    throw Error::usage("no dump was named, nor --shapes given (see psgd-ortho --help)");
  }
}

}  // namespace

std::vector<NamedOutput> OrthoOptions::outputs() const {
  std::vector<NamedOutput> outputs;
  if (results.json) outputs.push_back({"--json", *results.json});
  if (results.csv) outputs.push_back({"--csv", *results.csv});
  return outputs;
}

std::vector<std::filesystem::path> OrthoOptions::inputs() const {
  std::vector<std::filesystem::path> files;
  if (spec.dump) files = spec.dump->files;
  if (shapes_file) files.push_back(*shapes_file);
  return files;
}

std::optional<OrthoOptions> parse_ortho_options(const std::vector<std::string>& arguments) {
  OrthoOptions result;
  ReplaySpec replay;
  std::vector<std::int64_t> ranks;
  Options options({"psgd-ortho", "[options] DUMP.h5 [DUMP.h5 ...] | psgd-ortho [options] --shapes LIST",
                   std::string(summary), epilogue()});
  add_shapes(options, result);
  add_dump(options, replay, ranks);
  add_study(options, result.spec);
  options.group("Results");
  add_result_options(options, result.results, "write a row per method, shape, type and input as CSV");
  add_common_options(options, result.common);

  const auto files = options.parse(arguments);
  if (!files) return std::nullopt;
  result.config = options.values();
  OrthoSpec& spec = result.spec;
  if (result.shapes_file) {
    const std::vector<FactorShape> shapes = read_shapes(*result.shapes_file);
    spec.shapes.insert(spec.shapes.end(), shapes.begin(), shapes.end());
  }
  check(options, spec, !files->empty());
  spec.threads = result.common.threads;
  if (files->empty()) return result;
  replay.files.assign(files->begin(), files->end());
  replay.threads = spec.threads;
  replay.backend = spec.backend;
  if (spec.dtypes.size() == 1) replay.dtype = spec.dtypes.front();
  spec.dump = std::move(replay);
  spec.ranks = ranks.empty() ? std::vector<std::int64_t>{1, 2, 4, 8} : ranks;
  return result;
}

}  // namespace psgd::tools::ortho
