#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libpsgd/dump/description.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::dump {

/// What a file is to hold, and how.
struct WriterOptions {
  std::int64_t world_size = 1;
  std::vector<std::int64_t> process_ranks;  ///< in this file, in the order of its columns; empty: 0 … world_size − 1
  std::vector<Parameter> parameters;        ///< in the model's order; every bucket −1: not known
  GradKind grad_kind = GradKind::local;
  std::string framework;
  std::string framework_version;
  std::string model;
  std::string writer = "psgd";

  bool shuffle = false;
  int gzip = 0;  ///< deflate level, 1 to 9; 0: none
  bool fletcher32 = false;
  std::int64_t contiguous_steps = 0;  ///< not 0: room for exactly that many steps, without chunks or filters
  bool big_endian = false;
  bool bfloat16_as_float = false;  ///< as a 16-bit floating-point type instead of uint16
  std::filesystem::path shown_as;  ///< the name in messages, where the file is written under a temporary one
  bool durable = true;             ///< flush each step; false for what can simply be made again
};

/// What may be recorded beside a step's gradients; empty: not given.
struct StepRemarks {
  std::vector<float> loss_scale;  ///< a value for each process rank
  std::vector<double> loss;       ///< a value for each process rank
  std::optional<std::int32_t> accumulation;
  std::vector<std::uint8_t> present;  ///< [process rank, parameter], 0: unused
};

/// Writes one file of layout v1, a step at a time, so that whenever it is killed every complete step stays readable: a
/// step's data go out first, then its entry in /steps.
class Writer {
 public:
  /// Creates `path`, which must not exist or be empty; for an output that appears whole or not at all give it
  /// PendingFile::path(). Throws Error::usage for options that do not fit together, Error::input when the file cannot
  /// be written.
  Writer(const std::filesystem::path& path, WriterOptions options);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Closes; the file stays marked incomplete unless close() was called.
  ~Writer();

  /// gradients[column][parameter] points to the tensor's elements in logical order, T = float or double; they are
  /// rounded to the parameter's dtype. `step` has to exceed the one before.
  template <class T>
  void append_step(std::int64_t step, std::span<const std::vector<const T*>> gradients,
                   const StepRemarks& remarks = {});

  /// Brings everything to the operating system and marks the file complete. Throws Error::input when that fails.
  void close(bool complete = true);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace psgd::dump
