#include "tools/psgd-sweep/network_options.hpp"

#include <vector>

#include "libpsgd/base/error.hpp"
#include "libpsgd/model/network_presets.hpp"
#include "tools/psgd-sweep/network_file.hpp"

namespace psgd::tools::sweep {
namespace {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const model::NetworkPreset& preset : model::network_presets()) names.emplace_back(preset.name);
  return names;
}

/// A name that was not given is null in JSON.
Setting preset(std::string& target) {
  return {[&target](const std::string& text) { target = parse_choice(text, preset_names()); },
          [&target] { return target.empty() ? report::Json(nullptr) : report::Json(target); }};
}

void refuse_beside(const Options& options, std::string_view given, std::initializer_list<std::string_view> others) {
  for (const std::string_view other : others) {
    if (options.given(given) && options.given(other))
      throw Error::usage("--{} and --{} contradict each other: the network is given twice", given, other);
  }
}

/// α, β and where they come from.
model::Network network_of(const Options& options, const NetworkOptions& given, psgd::replay::NetworkOrigin& origin) {
  refuse_beside(options, "network", {"network-file", "bandwidth"});
  refuse_beside(options, "network-file", {"bandwidth", "alpha"});
  if (given.network_file) {
    const model::NetworkFit fit = read_network_file(*given.network_file);
    origin = {given.network_file->string(), "measurement file", fit.largest_relative_error};
    return fit.network;
  }
  if (!given.network.empty()) {
    const model::NetworkPreset& known = model::network_preset(given.network);
    origin = {given.network, std::string(known.source), std::nullopt};
    return {options.given("alpha") ? given.alpha : known.network.alpha, known.network.beta};
  }
  if (given.bandwidth == 0) throw Error::usage("--bandwidth must be positive");
  if (!options.given("alpha"))
    throw Error::usage("--bandwidth needs --alpha, the latency of a message in seconds (0 to neglect it)");
  origin = {"", "given", std::nullopt};
  return {given.alpha, 1 / given.bandwidth};
}

}  // namespace

void add_network_options(Options& options, NetworkOptions& network) {
  options.group("The network and the job, for predicted times (with --network, --network-file or --bandwidth)")
      .add("network", "NAME", preset(network.network), "a known network, one of those below", "no times are predicted")
      .add("network-file", "FILE", file(network.network_file),
           "a network as JSON: {\"alpha\", \"bandwidth\"}, or timed all-reduces to fit both to: {\"process_ranks\", "
           "\"algorithm\", \"all_reduce\": [{\"bytes\", \"seconds\"}, ...]}")
      .add("bandwidth", "BYTES/S", number(network.bandwidth, 0), "1 / beta, bytes a second that a link carries",
           "not given")
      .add("alpha", "SECONDS", number(network.alpha, 0),
           "latency of a message; with --bandwidth, or in place of the "
           "preset's",
           "not given")
      .add("world-size", "N", integer(network.world_size, 0), "process ranks of the job; 0: those of the dump")
      .add("all-reduce", "ring|tree", choice(network.algorithm, {"ring", "tree"}), "algorithm of the collectives")
      .add("forward-seconds", "SECONDS", number(network.forward_seconds, 0), "computing time of a forward pass")
      .add("backward-seconds", "SECONDS", number(network.backward_seconds, 0),
           "computing time of a backward pass, which hides communication");
  options.group("Judging")
      .add("compression-scale", "X", number(network.compression_scale, 0),
           "time to compress on the job's device over that measured here")
      .add("error-budget", "X", number(network.error_budget, 0),
           "relative error of the whole model that a plan may leave", "none")
      .add("byte-budget", "BYTES", number(network.byte_budget, 0), "bytes that a process rank may send in a step",
           "none");
}

std::string network_help() {
  std::string text =
      "Networks (--network): bandwidth in one direction by the standard, latency as NCCL's cost model has it\n"
      "(src/graph/tuning.cc of NCCL 2.8, ring, protocol Simple; TCP takes more: give --alpha):\n";
  for (const model::NetworkPreset& one : model::network_presets())
    text += fmt::format("  {:<16}alpha {:.3g} us, bandwidth {:>6.4g} GB/s; {}\n", one.name, one.network.alpha * 1e6,
                        1e-9 / one.network.beta, one.source);
  return text + "\n";
}

psgd::replay::AdviceOptions advice_options(const Options& options, const NetworkOptions& network) {
  psgd::replay::AdviceOptions advice;
  if (options.given("error-budget")) advice.error_budget = network.error_budget;
  if (options.given("byte-budget")) advice.byte_budget = network.byte_budget;
  advice.compression_scale = network.compression_scale;
  if (!options.given("network") && !options.given("network-file") && !options.given("bandwidth")) {
    for (const char* name : {"alpha", "world-size", "all-reduce", "forward-seconds", "backward-seconds"}) {
      if (options.given(name))
        throw Error::usage(
            "--{} needs --bandwidth, --network or --network-file: without a network no times are "
            "predicted",
            name);
    }
    return advice;
  }
  model::Cluster cluster;
  cluster.network = network_of(options, network, advice.network);
  cluster.algorithm = model::algorithm_from_string(network.algorithm);
  cluster.process_ranks = network.world_size;
  cluster.forward_seconds = network.forward_seconds;
  cluster.backward_seconds = network.backward_seconds;
  advice.cluster = cluster;
  return advice;
}

}  // namespace psgd::tools::sweep
