#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/replay/spec.hpp"

/// What PyTorch's hooks answered on a recording: one group of an X.expected.h5 (tests/golden/README.md).
namespace psgd::test {

/// A matrix of numbers with named extents.
struct Grid {
  std::vector<double> values;
  std::size_t rows = 0;
  std::size_t cols = 0;
  [[nodiscard]] double at(std::size_t row, std::size_t col) const { return values[row * cols + col]; }
};

class Expected {
 public:
  explicit Expected(const std::filesystem::path& file) : file_(dump::hdf5::File::open(file)) {}

  [[nodiscard]] std::vector<std::string> configurations() const {
    std::vector<std::string> names;
    for (const std::string& link : file_.links()) {
      if (link != "parameters" && link != "steps") names.push_back(link);
    }
    return names;
  }

  [[nodiscard]] dump::hdf5::Group group(const std::string& configuration) const {
    return file_.open_group(configuration);
  }

 private:
  dump::hdf5::File file_;
};

/// A dataset of float or double of any rank, flattened.
inline std::vector<double> read_values(const dump::hdf5::Group& group, const std::string& name) {
  const Shape extents = group.open_dataset(name).extents();
  std::vector<double> values(static_cast<std::size_t>(numel(extents)));
  group.read(name, std::span<double>(values), extents);
  return values;
}

/// [a, b, c] is read as a·b rows of c.
inline Grid read_grid(const dump::hdf5::Group& group, const std::string& name) {
  const Shape extents = group.open_dataset(name).extents();
  Grid grid;
  grid.values = read_values(group, name);
  grid.cols = static_cast<std::size_t>(extents.back());
  grid.rows = grid.cols == 0 ? 0 : grid.values.size() / grid.cols;
  return grid;
}

/// The replay that a group of answers belongs to.
inline replay::ReplaySpec spec_of(const dump::hdf5::Group& group) {
  replay::ReplaySpec spec;
  spec.hook = group.read_string("hook");
  compress::PowerSGDOptions& options = spec.power_sgd;
  const auto integer = [&](const char* name, auto& value) {
    if (group.has_attribute(name))
      value = static_cast<std::remove_reference_t<decltype(value)>>(group.read_integer(name));
  };
  const auto number = [&](const char* name, double& value) {
    if (group.has_attribute(name)) value = group.read_double(name);
  };
  integer("matrix_approximation_rank", options.matrix_approximation_rank);
  integer("start_powerSGD_iter", options.start_powerSGD_iter);
  integer("use_error_feedback", options.use_error_feedback);
  integer("warm_start", options.warm_start);
  integer("random_seed", options.random_seed);
  integer("batch_tensors_with_same_shape", options.batch_tensors_with_same_shape);
  number("min_compression_rate", options.min_compression_rate);
  number("orthogonalization_epsilon", options.orthogonalization_epsilon);
  return spec;
}

}  // namespace psgd::test
