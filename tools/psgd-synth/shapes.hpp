#pragma once

#include <string_view>
#include <vector>

#include "libpsgd/synth/models.hpp"

namespace psgd::tools::synth {

/// "fc.weight:512x128,fc.bias:512,64x64": parameters by shape, named or not; those without a name are called after
/// their place. A scalar is "name:scalar". Throws BadValue for anything else and for a name given twice.
std::vector<psgd::synth::NamedShape> parse_shapes(std::string_view text);

}  // namespace psgd::tools::synth
