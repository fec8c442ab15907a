#include "tools/psgd-synth/shapes.hpp"

#include <set>
#include <string>

#include <fmt/format.h>

#include "tools/common/values.hpp"

namespace psgd::tools::synth {
namespace {

constexpr std::int64_t largest_extent = std::int64_t{1} << 40;

Shape parse_shape(std::string_view text) {
  Shape shape;
  if (text == "scalar") return shape;
  for (const std::string_view extent : split(text, 'x')) shape.push_back(parse_integer(extent, 0, largest_extent));
  return shape;
}

}  // namespace

std::vector<psgd::synth::NamedShape> parse_shapes(std::string_view text) {
  std::vector<psgd::synth::NamedShape> parameters;
  std::set<std::string, std::less<>> names;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t colon = part.rfind(':');
    const bool named = colon != std::string_view::npos;
    std::string name = named ? std::string(part.substr(0, colon)) : fmt::format("parameter{}", parameters.size());
    if (name.empty()) throw BadValue(fmt::format("\"{}\" has no name before the colon", part));
    if (!names.insert(name).second) throw BadValue(fmt::format("the name \"{}\" stands there twice", name));
    parameters.push_back({std::move(name), parse_shape(named ? part.substr(colon + 1) : part)});
  }
  return parameters;
}

}  // namespace psgd::tools::synth
