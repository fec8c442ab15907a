#include "libpsgd/replay/describe.hpp"

namespace psgd::replay {

std::vector<ReplayedParameter> replayed_parameters(const dump::Description& dump, const Selection& selection) {
  std::vector<ReplayedParameter> parameters;
  for (const std::size_t index : selection.parameters) {
    const Parameter& parameter = dump.parameters[index];
    const MatrixExtents extents = parameter.shape.empty() ? MatrixExtents{1, 1} : matrix_extents(parameter.shape);
    parameters.push_back(
        {parameter.name, parameter.bucket, extents.rows, extents.cols, numel(parameter.shape), parameter.dtype});
  }
  return parameters;
}

}  // namespace psgd::replay
