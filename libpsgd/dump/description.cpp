#include "libpsgd/dump/description.hpp"

namespace psgd::dump {
namespace {

int width(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0;
    case DType::bfloat16:
      return 1;
    case DType::float32:
      return 2;
    case DType::float64:
      return 3;
  }
  return 2;
}

}  // namespace

std::string_view to_string(GradKind kind) { return kind == GradKind::averaged ? "averaged" : "local"; }

DType widest_dtype(std::span<const Parameter> parameters) {
  if (parameters.empty()) return DType::float32;
  DType widest = parameters.front().dtype;
  for (const Parameter& parameter : parameters) {
    if (width(parameter.dtype) > width(widest)) widest = parameter.dtype;
  }
  return widest;
}

}  // namespace psgd::dump
