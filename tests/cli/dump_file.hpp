#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace psgd::test {

/// A small dump in layout v1, float32, written with HDF5 itself rather than with the code under test.
struct DumpFile {
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> shape;
  };

  std::vector<std::int64_t> steps{0, 1, 2, 3};
  std::int64_t world_size = 2;
  std::vector<std::int64_t> process_ranks{0, 1};
  std::vector<Tensor> parameters{{"fc.weight", {16, 12}}, {"fc.bias", {16}}};
  bool complete = true;
  std::string grad_kind = "local";
  /// Value of an element; unset: small numbers that vary.
  std::function<float(std::size_t parameter, std::size_t step, std::size_t process_rank, std::size_t element)> value;

  void write(const std::string& path) const;
};

}  // namespace psgd::test
