#pragma once

#include <cstdint>
#include <vector>

#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::dump {

/// More than any model has; a table beyond it is taken for damage.
inline constexpr std::int64_t most_parameters = 1'000'000;

/// Reads /parameters: names, buckets and offsets, in the model's order; nothing else of a Parameter is filled in. Names
/// are distinct, printable UTF-8. Throws Error::input.
std::vector<Parameter> read_parameter_table(const hdf5::Group& root);

/// Writes it, as a new dataset.
void write_parameter_table(hdf5::Group& root, const std::vector<Parameter>& parameters);

/// Whether buckets were recorded; false when all are -1. With them, throws Error::input where a bucket or offset is not
/// sound or parameters overlap; without, assigns DistributedDataParallel's. Shapes and types have to be filled in.
bool settle_buckets(const std::string& file, std::vector<Parameter>& parameters);

}  // namespace psgd::dump
