#include "libpsgd/replay/spec.hpp"

namespace psgd::replay {

std::string_view to_string(Arithmetic arithmetic) { return arithmetic == Arithmetic::fused ? "fused" : "per-rank"; }

std::string_view to_string(compress::Residual residual) {
  return residual == compress::Residual::averaged ? "averaged" : "local";
}

}  // namespace psgd::replay
