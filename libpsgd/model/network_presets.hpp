#pragma once

#include <span>
#include <string_view>

#include "libpsgd/model/all_reduce.hpp"

namespace psgd::model {

/// A network by name. Bandwidths are what a link's standard carries in one direction; what a job gets is less, so that
/// a measurement of one's own is worth more.
struct NetworkPreset {
  std::string_view name;
  Network network;
  std::string_view help;
  std::string_view source;
};

/// Every preset, slowest first.
std::span<const NetworkPreset> network_presets();

/// Throws Error::usage naming the known ones.
const NetworkPreset& network_preset(std::string_view name);

}  // namespace psgd::model
