#include "tools/psgd-sweep/sweep_options.hpp"

#include <limits>
#include <span>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "tools/common/entries.hpp"
#include "tools/common/list_settings.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-sweep/network_options.hpp"

namespace psgd::tools::sweep {
namespace {

using psgd::replay::Arithmetic;
using psgd::replay::Grid;
using psgd::replay::ReplaySpec;

constexpr std::string_view summary =
    "Replays a grid of compression configurations on a recorded dump, each gradient read once, and says which rank "
    "and\n"
    "which knobs to use, or whether compression pays at all. Every knob takes a comma list; the grid is their product.";

constexpr std::string_view help_results =
    "Results: a table of configurations and the advice on standard output. --json writes one object: schema\n"
    "\"psgd-sweep\", version 1; complete; dump; configurations [{label, config, summary (as psgd-replay's), "
    "judgement,\n"
    "parameters}]; config: every option; advice {network, dense_bytes, not_finite, dense_step_seconds, recommended "
    "(an\n"
    "index or null), reasons, pytorch, epfml, plan}; spectrum (null without --spectrum-every) {every, exact_limit, "
    "steps,\n"
    "ranks, definitions, parameters}, spectrum_columns and spectrum_records. A judgement holds bytes_per_step,\n"
    "step_seconds, break_even_bandwidth (bytes a second, \"any\" or null), break_even_process_ranks {first, last}, and "
    "the\n"
    "same for buckets and layers. --csv writes a row per configuration. An interrupted sweep keeps the configurations\n"
    "that are finished; with --resume the same command goes on where it was, with the same results bit by bit.\n\n"
    "Examples:\n"
    "  psgd-sweep --matrix-approximation-rank 1,2,4,8,16,32 run.h5\n"
    "  psgd-sweep -r 1,2,4,8 --network ethernet-10g --world-size 64 --byte-budget 2e6 run.h5\n"
    "  psgd-sweep -r 1,2,4 --spectrum-every 4 --spectrum-csv values.csv run.h5\n"
    "  psgd-sweep -r 1,2,4 --resume sweep.state --json sweep.json long.h5\n"
    "  psgd-sweep --hook powersgd,top-k,qsgd -r 2 --fraction 0.01,0.1 run.h5\n\n";

void add_grid(Options& options, Grid& grid) {
  options.group("The grid: each takes a list with commas")
      .add("hook", "NAME,...", choices(grid.hook, names_of(compress::hooks())), "compressors", "powersgd")
      .add("matrix-approximation-rank,r", "N,...",
           integers(grid.matrix_approximation_rank, 0, std::numeric_limits<std::int32_t>::max()),
           "columns of the factors P and Q", "1")
      .add("start-powerSGD-iter", "N,...", integers(grid.start_powerSGD_iter, 0),
           "replayed steps averaged uncompressed first", "2")
      .add("min-compression-rate", "X,...", numbers(grid.min_compression_rate, 0),
           "a tensor is compressed when (rows + cols) * N * X < rows * cols", "2")
      .add("use-error-feedback", "on|off,...", switches(grid.use_error_feedback), "add what the step before lost", "on")
      .add("warm-start", "on|off,...", switches(grid.warm_start), "begin a step with the Q of the one before", "on")
      .add("batch-tensors-with-same-shape", "on|off,...", switches(grid.batch_tensors_with_same_shape),
           "stack matrices of one shape", "off")
      .add("orthogonalization-epsilon", "X,...", numbers(grid.orthogonalization_epsilon, 0),
           "added to column norms in Gram-Schmidt", "0")
      .add("random-seed", "N,...", integers(grid.random_seed, 0, std::numeric_limits<std::uint32_t>::max()), "seeds",
           "0")
      .add("orthogonalization", "NAME,...",
           choices(grid.orthogonalization, names_of(orthogonalize::methods(), {"auto"})), "methods", "auto")
      .add("residual", "KIND,...",
           named_values<compress::Residual>(
               grid.residual, {{"averaged", compress::Residual::averaged}, {"local", compress::Residual::local}}),
           "error memories", "averaged")
      .add(
          "arithmetic", "KIND,...",
          named_values<Arithmetic>(grid.arithmetic, {{"fused", Arithmetic::fused}, {"per-rank", Arithmetic::per_rank}}),
          "how process ranks are computed", "fused where possible")
      .add("dtype", "NAME,...",
           named_values<DType>(grid.dtype, {{"float32", DType::float32}, {"float64", DType::float64}}),
           "computing types", "float64 for float64 dumps, else float32");
}

void add_input(Options& options, ReplaySpec& base) {
  options.group("Input")
      .add("steps", "FIRST:LAST", range(base.steps), "recorded step numbers, both included", "all")
      .add("process-ranks", "LIST", integer_list(base.process_ranks), "recorded ids", "all, which must be there")
      .add("parameters", "GLOB,...", globs(base.parameters), "only parameters whose name matches a pattern", "all")
      .add("exclude", "GLOB,...", globs(base.exclude), "all but these", "none")
      .add("backend", "cpu|cuda", choice(base.backend, {"cpu", "cuda"}), "where matrices are computed")
      .add("transport", "NAME", choice(base.transport, {"simulated", "nccl", "mpi"}), "how process ranks are summed")
      .add("memory-limit", "SIZE", size(base.memory_limit),
           "most memory for gradients and states; several passes are made where they exceed it", "none");
}

void add_run(Options& options, psgd::replay::SweepRequest& request, std::string& distribute) {
  options.group("Long sweeps")
      .add("resume", "FILE", file(request.resume),
           "keep in FILE what is done, and go on from there when it exists; a finished one is only judged anew")
      .add("checkpoint-seconds", "SECONDS", number(request.checkpoint_seconds, 0),
           "time between two writes of that file; 0: after every step")
      .add("distribute", "KIND", choice(distribute, {"configurations", "process-ranks"}),
           "what MPI processes share out: configurations or process-ranks (needs the MPI module; exit code 4 without)");
}

void add_baselines(Options& options, Grid& grid) {
  options.group("Baselines: each takes a list with commas")
      .add("fraction", "X,...", numbers(grid.fraction, 0, 1),
           "top-k, random-k: share of a tensor's elements that is sent", "0.01")
      .add("quantization-bits", "N,...", integers(grid.quantization_bits, 2, 16),
           "qsgd: bits of an element, its sign included", "4")
      .add("quantization-chunk", "N,...", integers(grid.quantization_chunk, 0),
           "qsgd: elements that share a norm; 0: a tensor's all", "512");
}

void add_spectrum(Options& options, psgd::replay::SpectrumSpec& spectrum, std::optional<std::filesystem::path>& csv) {
  options.group("Singular values: how good compression is, against the best possible")
      .add("spectrum-every", "N", integer(spectrum.every, 0),
           "analyse the mean gradients and compressed targets of each N-th step, the first included; 0: none")
      .add("spectrum-values", "N", integer(spectrum.values, 1, 1024), "leading singular values that are reported")
      .add("exact-limit", "N", integer(spectrum.exact_limit, 1),
           "matrices whose smaller side is at most N are decomposed exactly, larger ones by a randomized method with "
           "bounds")
      .add_switch("suggest-start", spectrum.suggest_start,
                  "demand a suggestion for start_powerSGD_iter: an error where too few steps are analysed (8)")
      .add("spectrum-csv", "FILE", file(csv), "write a row per analysed step, parameter and subject as CSV");
}

void check_spectrum(const Options& options, const psgd::replay::SpectrumSpec& spectrum) {
  if (spectrum.every > 0) return;
  for (const char* name : {"spectrum-values", "exact-limit", "suggest-start", "spectrum-csv"}) {
    if (options.given(name)) throw Error::usage("--{} needs --spectrum-every", name);
  }
}

}  // namespace

std::vector<NamedOutput> SweepOptions::outputs() const {
  std::vector<NamedOutput> outputs;
  if (results.json) outputs.push_back({"--json", *results.json});
  if (results.csv) outputs.push_back({"--csv", *results.csv});
  if (spectrum_csv) outputs.push_back({"--spectrum-csv", *spectrum_csv});
  if (request.resume) outputs.push_back({"--resume", *request.resume});
  return outputs;
}

std::optional<SweepOptions> parse_sweep_options(const std::vector<std::string>& arguments) {
  SweepOptions result;
  Grid grid;
  ReplaySpec base;
  NetworkOptions network;
  std::string distribute = "configurations";
  Options options({"psgd-sweep", "[options] DUMP.h5 [DUMP.h5 ...]", std::string(summary),
                   std::string(help_results) + network_help() + exit_code_help()});
  add_grid(options, grid);
  add_baselines(options, grid);
  add_input(options, base);
  add_spectrum(options, result.request.spectrum, result.spectrum_csv);
  add_network_options(options, network);
  add_run(options, result.request, distribute);
  options.group("Results");
  add_result_options(options, result.results, "write a row per configuration as CSV");
  add_common_options(options, result.common);

  const auto files = options.parse(arguments);
  if (!files) return std::nullopt;
  if (files->empty()) throw Error::usage("no dump was named (see psgd-sweep --help)");
  base.files.assign(files->begin(), files->end());
  base.threads = result.common.threads;
  check_spectrum(options, result.request.spectrum);
  if (options.given("checkpoint-seconds") && !result.request.resume)
    throw Error::usage("--checkpoint-seconds needs --resume");
  if (result.spectrum_csv && *result.spectrum_csv == "-")
    throw Error::usage("--spectrum-csv writes to a file, as standard output holds the other results");
  if (distribute == "process-ranks") result.request.distribute = psgd::replay::Distribute::process_ranks;
  result.configurations = psgd::replay::expand(base, grid);
  result.advice = advice_options(options, network);
  result.config = options.values();
  return result;
}

}  // namespace psgd::tools::sweep
