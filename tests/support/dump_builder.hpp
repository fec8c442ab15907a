#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "libpsgd/dump/writer.hpp"

namespace psgd::test {

/// A small dump made of a function of its place.
struct DumpBuilder {
  using Value = std::function<double(std::size_t step, std::size_t rank, std::size_t parameter, std::size_t element)>;

  std::vector<std::int64_t> steps{0, 1, 2, 3, 4};
  std::int64_t world_size = 2;
  std::vector<Parameter> parameters;
  dump::GradKind grad_kind = dump::GradKind::local;
  bool complete = true;
  std::function<float(std::size_t step)> loss_scale;  ///< unset: none is recorded
  Value value;                                        ///< unset: fixed random numbers

  DumpBuilder& add(const std::string& name, Shape shape, DType dtype = DType::float32) {
    Parameter parameter;
    parameter.name = name;
    parameter.shape = std::move(shape);
    parameter.dtype = dtype;
    parameters.push_back(parameter);
    return *this;
  }

  void write(const std::filesystem::path& path) const {
    dump::WriterOptions options;
    options.world_size = world_size;
    options.parameters = parameters;
    options.grad_kind = grad_kind;
    dump::Writer writer(path, options);
    std::mt19937 engine(1);
    std::normal_distribution<double> normal;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      std::vector<std::vector<std::vector<double>>> values(static_cast<std::size_t>(world_size));
      std::vector<std::vector<const double*>> pointers(values.size());
      for (std::size_t rank = 0; rank < values.size(); ++rank) {
        for (std::size_t p = 0; p < parameters.size(); ++p) {
          std::vector<double> tensor(static_cast<std::size_t>(numel(parameters[p].shape)));
          for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = value ? value(step, rank, p, i) : normal(engine);
          values[rank].push_back(std::move(tensor));
          pointers[rank].push_back(values[rank].back().data());
        }
      }
      dump::StepRemarks remarks;
      if (loss_scale) remarks.loss_scale.assign(values.size(), loss_scale(step));
      writer.append_step<double>(steps[step], pointers, remarks);
    }
    writer.close(complete);
  }
};

}  // namespace psgd::test
