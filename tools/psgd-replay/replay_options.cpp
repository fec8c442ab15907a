#include "tools/psgd-replay/replay_options.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "tools/common/entries.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-replay/baseline_options.hpp"
#include "tools/psgd-replay/original_hook.hpp"
#include "tools/psgd-replay/replay_help.hpp"

namespace psgd::tools::replay {
namespace {

using psgd::replay::Arithmetic;
using psgd::replay::ReplaySpec;
using report::Json;

constexpr std::int64_t largest_seed = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t largest_rank = std::numeric_limits<std::int32_t>::max();

std::string epilogue() {
  return table_of("Hooks (--hook):", compress::hooks()) + "\n" +
         table_of("Orthogonalization (--orthogonalization), besides auto:", orthogonalize::methods()) + "\n" +
         std::string(help_schema) + exit_code_help();
}

/// A setting whose variable is an enumeration: `choices` are its values' texts in order.
template <class Target, class Value>
Setting named(Target& target, std::vector<std::pair<std::string, Value>> choices, std::string unset = {}) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const auto& [name, value] : choices) names.push_back(name);
  auto shown = std::make_shared<std::string>(unset.empty() ? names.front() : std::move(unset));
  return {[&target, choices, names, shown](const std::string& text) {
            *shown = parse_choice(text, names);
            for (const auto& [name, value] : choices) {
              if (name == text) target = value;
            }
          },
          [shown] { return Json(*shown); }};
}

void add_compression(Options& options, ReplaySpec& spec) {
  compress::PowerSGDOptions& power_sgd = spec.power_sgd;
  options.group("Compression, as PyTorch's PowerSGDState takes it")
      .add("hook", "NAME", choice(spec.hook, names_of(compress::hooks())), "the compressor, one of those below")
      .add("matrix-approximation-rank,r", "N", integer(power_sgd.matrix_approximation_rank, 0, largest_rank),
           "columns of the factors P and Q")
      .add("start-powerSGD-iter", "N", integer(power_sgd.start_powerSGD_iter, 0),
           "replayed steps that are averaged uncompressed first; PyTorch's own default is 1000, a dump is short")
      .add("min-compression-rate", "X", number(power_sgd.min_compression_rate, 0),
           "a tensor is compressed when (rows + cols) * N * X < rows * cols")
      .add("use-error-feedback", "on|off", on_off(power_sgd.use_error_feedback),
           "add what the step before lost to the next gradient")
      .add("warm-start", "on|off", on_off(power_sgd.warm_start), "begin a step with the Q of the one before")
      .add("batch-tensors-with-same-shape", "on|off", on_off(power_sgd.batch_tensors_with_same_shape),
           "stack matrices of one shape; changes the random numbers")
      .add("orthogonalization-epsilon", "X", number(power_sgd.orthogonalization_epsilon, 0),
           "added to column norms in Gram-Schmidt")
      .add("random-seed", "N", integer(power_sgd.random_seed, 0, largest_seed), "seed of NumPy's RandomState")
      .add("compression-stats-logging-frequency", "N", integer(power_sgd.compression_stats_logging_frequency, 0),
           "steps between two statistics lines at --log-level info; 0 means 1");
}

void add_baselines(Options& options, compress::BaselineOptions& baseline) {
  options.group("Baselines")
      .add("fraction", "X", number(baseline.fraction, 0, 1),
           "top-k, random-k: share of a tensor's elements that is sent")
      .add("quantization-bits", "N", integer(baseline.quantization_bits, 2, 16),
           "qsgd: bits of an element, its sign included")
      .add("quantization-chunk", "N", integer(baseline.quantization_chunk, 0),
           "qsgd: elements that share a norm; 0: a tensor's all");
}

void add_computation(Options& options, ReplaySpec& spec) {
  options.group("How it is computed")
      .add("orthogonalization", "NAME", choice(spec.orthogonalization, names_of(orthogonalize::methods(), {"auto"})),
           "of the factors; auto: PyTorch's rule, Gram-Schmidt up to 2 columns and in half precision, else Householder")
      .add("residual", "KIND",
           named<compress::Residual, compress::Residual>(
               spec.residual, {{"averaged", compress::Residual::averaged}, {"local", compress::Residual::local}}),
           "error memory: averaged, as PyTorch keeps it, or local, each process rank's own projection")
      .add("arithmetic", "KIND",
           named<std::optional<Arithmetic>, Arithmetic>(
               spec.arithmetic, {{"fused", Arithmetic::fused}, {"per-rank", Arithmetic::per_rank}}),
           "fused: one compression for all process ranks, by linearity; per-rank: one for each",
           "fused, per-rank with local residuals")
      .add("dtype", "NAME",
           named<std::optional<DType>, std::optional<DType>>(
               spec.dtype, {{"auto", std::nullopt}, {"float32", DType::float32}, {"float64", DType::float64}}),
           "computing type; auto: float64 for float64 dumps, else float32")
      .add("draw-in-compute-dtype", "on|off", on_off(spec.draw_in_compute_dtype),
           "draw random numbers in the computing type instead of the dump's")
      .add("backend", "cpu|cuda", choice(spec.backend, {"cpu", "cuda"}), "where matrices are computed")
      .add("transport", "NAME", choice(spec.transport, {"simulated", "nccl", "mpi"}), "how process ranks are summed");
}

void add_input(Options& options, ReplaySpec& spec) {
  options.group("Input")
      .add("steps", "FIRST:LAST", range(spec.steps), "recorded step numbers, both included; either may be left out",
           "all")
      .add("process-ranks", "LIST", integer_list(spec.process_ranks),
           "recorded ids, N or FIRST:LAST between commas; their number becomes the world size",
           "all, which must be there")
      .add("parameters", "GLOB,...", globs(spec.parameters),
           "only parameters whose name matches a pattern; * matches dots too", "all")
      .add("exclude", "GLOB,...", globs(spec.exclude), "all but these")
      .add("state-in", "FILE", file(spec.state_in), "go on from a state written by --state-out")
      .add("memory-limit", "SIZE", size(spec.memory_limit),
           "most memory for gradients and state, as 512MiB, 4G or 1e9 bytes");
}

void add_results(Options& options, ReplayOptions& result) {
  options.group("Results");
  add_result_options(options, result.results, "write a row per step and parameter as CSV");
  options.add("output", "FILE", file(result.spec.output), "write the averaged gradients of every step as HDF5")
      .add("state-out", "FILE", file(result.spec.state_out), "write the state after the last step, to go on later");
}

/// The PowerSGDState parameters among the given options; a loaded state decides the others.
std::set<std::string, std::less<>> given_parameters(const Options& options) {
  std::set<std::string, std::less<>> given;
  for (std::string name : options.given()) {
    std::replace(name.begin(), name.end(), '-', '_');
    given.insert(std::move(name));
  }
  return given;
}

}  // namespace

std::vector<NamedOutput> ReplayOptions::outputs() const {
  std::vector<NamedOutput> outputs;
  if (results.json) outputs.push_back({"--json", *results.json});
  if (results.csv) outputs.push_back({"--csv", *results.csv});
  if (spec.output) outputs.push_back({"--output", *spec.output});
  if (spec.state_out) outputs.push_back({"--state-out", *spec.state_out});
  return outputs;
}

std::vector<std::filesystem::path> ReplayOptions::inputs() const {
  std::vector<std::filesystem::path> inputs = spec.files;
  if (config_file) inputs.emplace_back(*config_file);
  if (spec.state_in && spec.state_in != spec.state_out) inputs.push_back(*spec.state_in);
  return inputs;
}

std::optional<ReplayOptions> parse_replay_options(const std::vector<std::string>& arguments) {
  ReplayOptions result;
  Options options({"psgd-replay", "[options] DUMP.h5 [DUMP.h5 ...]", std::string(help_summary), epilogue()});
  add_compression(options, result.spec);
  add_baselines(options, result.spec.baseline);
  add_computation(options, result.spec);
  add_input(options, result.spec);
  add_results(options, result);
  add_common_options(options, result.common);

  const auto files = options.parse(arguments);
  if (!files) return std::nullopt;
  if (files->empty()) throw Error::usage("no dump was named (see psgd-replay --help)");
  result.spec.files.assign(files->begin(), files->end());
  result.spec.threads = result.common.threads;
  result.spec.given = given_parameters(options);
  if (result.spec.hook == "original") check_original_hook(options, result.spec);
  check_baseline_options(options, compress::hook(result.spec.hook));
  result.config = options.values();
  result.config_file = options.config_file();
  return result;
}

}  // namespace psgd::tools::replay
