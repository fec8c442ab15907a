#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/tensor/bucket_layout.hpp"
#include "libpsgd/tensor/dtype.hpp"

namespace psgd::dump {

using psgd::to_string;  // of shapes and types; an overload below would hide it

/// The widest type of any parameter; float32 when there is none.
DType widest_dtype(std::span<const Parameter> parameters);

/// What the recorded gradients are.
enum class GradKind {
  local,     ///< each process rank's own gradient, before any collective
  averaged,  ///< the mean over process ranks
};

/// "local" or "averaged", as the attribute grad_kind spells them.
std::string_view to_string(GradKind kind);

/// What is in a dump: one file, or several that hold parts of the same recording.
struct Description {
  std::vector<std::filesystem::path> files;
  std::int64_t world_size = 0;              ///< W of the recorded job
  std::vector<std::int64_t> process_ranks;  ///< ids that were recorded, ascending, over all files
  std::vector<std::int64_t> steps;          ///< recorded step numbers that every file holds, ascending
  std::vector<Parameter> parameters;        ///< in the model's own order, every one with a bucket and an offset
  bool buckets_recorded = false;            ///< false: buckets follow DistributedDataParallel's default rule
  GradKind grad_kind = GradKind::local;
  bool complete = false;  ///< every file was closed properly
  std::string framework;
  std::string framework_version;
  std::string model;
  std::string writer;
  std::vector<std::string> notes;  ///< what a reader should know: an incomplete file, steps that were left out

  /// The widest logical type of any parameter.
  [[nodiscard]] DType dtype() const { return widest_dtype(parameters); }
};

}  // namespace psgd::dump
