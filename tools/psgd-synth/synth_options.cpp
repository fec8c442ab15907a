#include "tools/psgd-synth/synth_options.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/reader.hpp"
#include "libpsgd/synth/models.hpp"
#include "tools/common/entries.hpp"
#include "tools/common/main.hpp"
#include "tools/psgd-synth/shapes.hpp"

namespace psgd::tools::synth {
namespace {

using psgd::synth::NamedShape;

constexpr std::int64_t most_steps = std::int64_t{1} << 40;
constexpr std::int64_t largest_world = std::int64_t{1} << 16;
constexpr std::int64_t largest_seed = std::numeric_limits<std::uint32_t>::max();

constexpr std::string_view summary =
    "Makes a gradient dump up to order: any shapes, known singular values, noise between process ranks and drift from "
    "step to\nstep. The same options give the same file, whatever the number of threads.";

std::string epilogue() {
  return table_of("Models (--model):", psgd::synth::models()) +
         "\nEvery matrix has the singular values scale * s_i: flat s_i = 1, power:D s_i = (i+1)^-D, geometric:D s_i = "
         "D^i.\nThe best relative error of rank r is therefore sqrt(sum of s_i^2 from i = r on / sum of all s_i^2), in "
         "every step.\nMemory: one step of all process ranks, twice while it is made.\n\n" +
         exit_code_help();
}

/// Where the shapes come from: one of three.
struct Source {
  std::string model;
  std::vector<NamedShape> shapes;
  std::optional<std::filesystem::path> like;
  std::int64_t repeat = 1;
  std::string dtype = "float32";
};

Setting shape_list(std::vector<NamedShape>& target) {
  return {[&target](const std::string& text) { target = parse_shapes(text); },
          [&target] { return target.empty() ? report::Json(nullptr) : report::Json(target.size()); }};
}

Setting spectrum(psgd::synth::Spectrum& target) {
  return {[&target](const std::string& text) {
            try {
              target = psgd::synth::spectrum_from_string(text);
            } catch (const Error& error) {
              throw BadValue(error.what());
            }
          },
          [&target] { return report::Json(psgd::synth::to_string(target)); }};
}

std::vector<Parameter> parameters_of(const Source& source) {
  if (source.like) {
    const dump::Reader reader({*source.like});
    return reader.description().parameters;
  }
  const std::vector<NamedShape> once =
      source.shapes.empty() ? psgd::synth::model_parameters(source.model) : source.shapes;
  std::vector<Parameter> parameters;
  for (std::int64_t copy = 0; copy < source.repeat; ++copy) {
    for (const NamedShape& one : once) {
      Parameter parameter;
      parameter.name = source.repeat == 1 ? one.name : fmt::format("{}.{}", copy, one.name);
      parameter.shape = one.shape;
      parameter.dtype = dtype_from_string(source.dtype);
      parameters.push_back(std::move(parameter));
    }
  }
  return parameters;
}

void check_source(const Options& options) {
  const int sources = static_cast<int>(options.given("model")) + static_cast<int>(options.given("shapes")) +
                      static_cast<int>(options.given("like"));
  if (sources > 1) throw Error::usage("give one of '--model', '--shapes' and '--like'");
  if (!options.given("like")) return;
  for (const char* other : {"repeat", "dtype"}) {
    if (options.given(other)) throw Error::usage("option '--{}' has no meaning with '--like', which decides it", other);
  }
}

}  // namespace

std::optional<SynthOptions> parse_synth_options(const std::vector<std::string>& arguments) {
  SynthOptions result;
  Source source;
  source.model = "gpt2-block";
  Options options({"psgd-synth", "[options] OUTPUT.h5", std::string(summary), epilogue()});
  options.group("Parameters")
      .add("model", "NAME", choice(source.model, names_of(psgd::synth::models())),
           "those of a known model, one of those below")
      .add("shapes", "LIST", shape_list(source.shapes), "NAME:ROWSxCOLS,... , the names may be left out", "none")
      .add("like", "DUMP.h5", file(source.like), "those of a recorded dump, buckets and types included")
      .add("repeat", "N", integer(source.repeat, 1, 1 << 20), "that many copies of the model")
      .add("dtype", "NAME", choice(source.dtype, {"float32", "float64", "float16", "bfloat16"}), "of all parameters");
  options.group("Gradients")
      .add("world-size", "N", integer(result.gradients.world_size, 1, largest_world), "process ranks")
      .add("steps", "N", integer(result.steps, 1, most_steps), "how many")
      .add("first-step", "N", integer(result.first_step, 0, most_steps), "number of the first")
      .add("spectrum", "KIND", spectrum(result.gradients.spectrum), "flat, power:DECAY or geometric:DECAY")
      .add("spectrum-rank", "N", integer(result.gradients.spectrum_rank, 1, 1 << 20),
           "singular values that are not zero, at most")
      .add("scale", "X", number(result.gradients.scale, 0), "the largest singular value")
      .add("noise", "X", number(result.gradients.noise, 0), "distance of a process rank from the mean, over its norm")
      .add("drift", "X", number(result.gradients.drift, 0), "how far the singular vectors turn in a step")
      .add("random-seed", "N", integer(result.gradients.seed, 0, largest_seed), "of everything random");
  options.group("File")
      .add("per-rank", "on|off", on_off(result.per_rank), "a file for each process rank, OUTPUT.rank00000-of-00002.h5")
      .add("gzip", "on|off", on_off(result.gzip), "shuffle and gzip level 1");
  add_common_options(options, result.common);

  const auto files = options.parse(arguments);
  if (!files) return std::nullopt;
  if (files->size() != 1) throw Error::usage("name one output file (see psgd-synth --help)");
  check_source(options);
  result.output = files->front();
  result.parameters = parameters_of(source);
  for (const Parameter& parameter : result.parameters) result.gradients.shapes.push_back(parameter.shape);
  return result;
}

}  // namespace psgd::tools::synth
