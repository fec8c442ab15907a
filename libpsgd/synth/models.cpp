#include "libpsgd/synth/models.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"

namespace psgd::synth {
namespace {

/// Radford et al. 2019, as Hugging Face's gpt2 names them.
std::vector<NamedShape> gpt2_block() {
  return {{"ln_1.weight", {768}},
          {"ln_1.bias", {768}},
          {"attn.c_attn.weight", {768, 2304}},
          {"attn.c_attn.bias", {2304}},
          {"attn.c_proj.weight", {768, 768}},
          {"attn.c_proj.bias", {768}},
          {"ln_2.weight", {768}},
          {"ln_2.bias", {768}},
          {"mlp.c_fc.weight", {768, 3072}},
          {"mlp.c_fc.bias", {3072}},
          {"mlp.c_proj.weight", {3072, 768}},
          {"mlp.c_proj.bias", {768}}};
}

void add_batch_norm(std::vector<NamedShape>& parameters, const std::string& name, std::int64_t channels) {
  parameters.push_back({name + ".weight", {channels}});
  parameters.push_back({name + ".bias", {channels}});
}

/// He et al. 2016, as torchvision names them.
std::vector<NamedShape> resnet50() {
  constexpr std::array<std::int64_t, 4> widths{64, 128, 256, 512};
  constexpr std::array<int, 4> blocks{3, 4, 6, 3};
  std::vector<NamedShape> parameters{{"conv1.weight", {64, 3, 7, 7}}};
  add_batch_norm(parameters, "bn1", 64);
  std::int64_t in = 64;
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    const std::int64_t width = widths[stage];
    const std::int64_t out = 4 * width;
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::string name = fmt::format("layer{}.{}", stage + 1, block);
      const std::array<Shape, 3> kernels{Shape{width, in, 1, 1}, Shape{width, width, 3, 3}, Shape{out, width, 1, 1}};
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        parameters.push_back({fmt::format("{}.conv{}.weight", name, i + 1), kernels[i]});
        add_batch_norm(parameters, fmt::format("{}.bn{}", name, i + 1), kernels[i][0]);
      }
      if (block == 0) {
        parameters.push_back({name + ".downsample.0.weight", {out, in, 1, 1}});
        add_batch_norm(parameters, name + ".downsample.1", out);
      }
      in = out;
    }
  }
  parameters.push_back({"fc.weight", {1000, 2048}});
  parameters.push_back({"fc.bias", {1000}});
  return parameters;
}

/// The language model of the PowerSGD paper (Vogels et al. 2019, appendix): tied embedding, torch.nn.LSTM's names.
std::vector<NamedShape> lstm() {
  constexpr std::int64_t width = 650;
  constexpr std::int64_t tokens = 28869;
  std::vector<NamedShape> parameters{{"encoder.weight", {tokens, width}}};
  for (int layer = 0; layer < 3; ++layer) {
    parameters.push_back({fmt::format("rnn.weight_ih_l{}", layer), {4 * width, width}});
    parameters.push_back({fmt::format("rnn.weight_hh_l{}", layer), {4 * width, width}});
    parameters.push_back({fmt::format("rnn.bias_ih_l{}", layer), {4 * width}});
    parameters.push_back({fmt::format("rnn.bias_hh_l{}", layer), {4 * width}});
  }
  parameters.push_back({"decoder.bias", {tokens}});
  return parameters;
}

constexpr std::array table{
    Model{"gpt2-block", "a transformer block of GPT-2 small, 7.1 million elements; there are 12", gpt2_block},
    Model{"resnet50", "25.6 million elements in 161 parameters", resnet50},
    Model{"lstm", "the PowerSGD paper's language model, 28.9 million elements", lstm},
};

}  // namespace

std::span<const Model> models() { return table; }

std::vector<NamedShape> model_parameters(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Model& model : table) {
    if (model.name == name) return model.parameters();
    names.push_back(model.name);
  }
  throw Error::usage("unknown model \"{}\" (known: {})", name, fmt::join(names, ", "));
}

}  // namespace psgd::synth
