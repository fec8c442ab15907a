#include "tools/psgd-sweep/sweep_options.hpp"

#include <limits>
#include <span>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "tools/common/list_settings.hpp"
#include "tools/common/main.hpp"

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
    "parameters}]; config: every option; advice {dense_bytes, dense_step_seconds, recommended (an index or null), "
    "reasons, pytorch, epfml, "
    "plan}.\n"
    "--csv writes a row per configuration. An interrupted sweep keeps the configurations that are finished.\n\n"
    "Examples:\n"
    "  psgd-sweep --matrix-approximation-rank 1,2,4,8,16,32 run.h5\n"
    "  psgd-sweep -r 1,2,4,8 --alpha 5e-6 --bandwidth 3e9 --world-size 64 --byte-budget 2e6 run.h5\n\n";

/// What the network options are read into.
struct Network {
  double alpha = 0;
  double bandwidth = 0;
  std::string algorithm = "ring";
  std::int64_t world_size = 0;
  double forward_seconds = 0;
  double backward_seconds = 0;
  double error_budget = 0;
  double byte_budget = 0;
};

template <class Entry>
std::vector<std::string> names_of(std::span<const Entry> entries, std::vector<std::string> names = {}) {
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

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

void add_network(Options& options, Network& network) {
  options.group("The network and the job, for predicted times (with --bandwidth)")
      .add("bandwidth", "BYTES/S", number(network.bandwidth, 0), "1 / beta, bytes a second that a link carries",
           "not given: no times are predicted")
      .add("alpha", "SECONDS", number(network.alpha, 0), "latency of a message")
      .add("world-size", "N", integer(network.world_size, 0), "process ranks of the job", "those of the dump")
      .add("all-reduce", "ring|tree", choice(network.algorithm, {"ring", "tree"}), "algorithm of the collectives")
      .add("forward-seconds", "SECONDS", number(network.forward_seconds, 0), "computing time of a forward pass")
      .add("backward-seconds", "SECONDS", number(network.backward_seconds, 0),
           "computing time of a backward pass, which hides communication");
  options.group("Budgets")
      .add("error-budget", "X", number(network.error_budget, 0),
           "relative error of the whole model that a plan may leave", "none")
      .add("byte-budget", "BYTES", number(network.byte_budget, 0), "bytes that a process rank may send in a step",
           "none");
}

psgd::replay::AdviceOptions advice_options(const Options& options, const Network& network) {
  psgd::replay::AdviceOptions advice;
  if (options.given("error-budget")) advice.error_budget = network.error_budget;
  if (options.given("byte-budget")) advice.byte_budget = network.byte_budget;
  if (!options.given("bandwidth")) {
    for (const char* name : {"alpha", "world-size", "all-reduce", "forward-seconds", "backward-seconds"}) {
      if (options.given(name))
        throw Error::usage("--{} needs --bandwidth: without a network no times are predicted", name);
    }
    return advice;
  }
  if (network.bandwidth == 0) throw Error::usage("--bandwidth must be positive");
  model::Cluster cluster;
  cluster.network = {network.alpha, 1 / network.bandwidth};
  cluster.algorithm = model::algorithm_from_string(network.algorithm);
  cluster.process_ranks = network.world_size;
  cluster.forward_seconds = network.forward_seconds;
  cluster.backward_seconds = network.backward_seconds;
  advice.cluster = cluster;
  return advice;
}

}  // namespace

std::vector<NamedOutput> SweepOptions::outputs() const {
  std::vector<NamedOutput> outputs;
  if (results.json) outputs.push_back({"--json", *results.json});
  if (results.csv) outputs.push_back({"--csv", *results.csv});
  return outputs;
}

std::optional<SweepOptions> parse_sweep_options(const std::vector<std::string>& arguments) {
  SweepOptions result;
  Grid grid;
  ReplaySpec base;
  Network network;
  Options options({"psgd-sweep", "[options] DUMP.h5 [DUMP.h5 ...]", std::string(summary),
                   std::string(help_results) + exit_code_help()});
  add_grid(options, grid);
  add_input(options, base);
  add_network(options, network);
  options.group("Results");
  add_result_options(options, result.results, "write a row per configuration as CSV");
  add_common_options(options, result.common);

  const auto files = options.parse(arguments);
  if (!files) return std::nullopt;
  if (files->empty()) throw Error::usage("no dump was named (see psgd-sweep --help)");
  base.files.assign(files->begin(), files->end());
  base.threads = result.common.threads;
  result.configurations = psgd::replay::expand(base, grid);
  result.advice = advice_options(options, network);
  result.config = options.values();
  return result;
}

}  // namespace psgd::tools::sweep
