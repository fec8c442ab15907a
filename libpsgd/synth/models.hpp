#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/tensor/shape.hpp"

/// Gradients made up to order: known models' shapes, known spectra.
namespace psgd::synth {

struct NamedShape {
  std::string name;
  Shape shape;
};

struct Model {
  std::string_view name;
  std::string_view help;
  std::vector<NamedShape> (*parameters)();
};

/// Every model known, in the order that help texts list them.
std::span<const Model> models();

/// Its parameters in the model's own order. Throws Error::usage naming the known ones.
std::vector<NamedShape> model_parameters(std::string_view name);

}  // namespace psgd::synth
