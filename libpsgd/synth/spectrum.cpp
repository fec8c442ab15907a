#include "libpsgd/synth/spectrum.hpp"

#include <charconv>
#include <cmath>

#include "libpsgd/base/error.hpp"

namespace psgd::synth {
namespace {

Error unknown(std::string_view text) {
  return Error::usage(
      "spectrum \"{}\": expected flat, power:DECAY with DECAY at least 0, or geometric:DECAY above 0 and at most 1",
      text);
}

double decay_of(std::string_view text, std::string_view whole) {
  double decay = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), decay);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(decay)) throw unknown(whole);
  return decay;
}

}  // namespace

Spectrum spectrum_from_string(std::string_view text) {
  if (text == "flat") return {Spectrum::Kind::flat, 0};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw unknown(text);
  const std::string_view kind = text.substr(0, colon);
  const double decay = decay_of(text.substr(colon + 1), text);
  if (kind == "power" && decay >= 0) return {Spectrum::Kind::power, decay};
  if (kind == "geometric" && decay > 0 && decay <= 1) return {Spectrum::Kind::geometric, decay};
  throw unknown(text);
}

std::string to_string(const Spectrum& spectrum) {
  switch (spectrum.kind) {
    case Spectrum::Kind::flat:
      return "flat";
    case Spectrum::Kind::power:
      return fmt::format("power:{}", spectrum.decay);
    case Spectrum::Kind::geometric:
      return fmt::format("geometric:{}", spectrum.decay);
  }
  return {};
}

std::vector<double> singular_values(const Spectrum& spectrum, std::size_t count) {
  std::vector<double> values(count, 1.0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto position = static_cast<double>(i);
    if (spectrum.kind == Spectrum::Kind::power) values[i] = std::pow(position + 1, -spectrum.decay);
    if (spectrum.kind == Spectrum::Kind::geometric) values[i] = std::pow(spectrum.decay, position);
  }
  return values;
}

}  // namespace psgd::synth
