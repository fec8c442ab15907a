#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libpsgd/dump/reader.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::dump {

/// One step's gradients in memory.
template <class T>
struct StepData {
  std::size_t step_index = 0;
  /// One for each process rank asked for: layout.extent elements, 64-byte aligned; what belongs to no tensor is zero.
  std::vector<T*> gradients;
};

/// The chosen steps of a dump one after the other, T = float or double, read ahead by a thread of its own while the
/// caller computes.
///
/// `depth` >= 1 buffers of one step each are allocated at the start and reused: 1 reads in next() on the caller's
/// thread, 2 reads one step ahead. While the stream lives nothing else may call the reader's read_step. Throws
/// Error::unavailable where the buffers exceed the reader's memory limit.
template <class T>
class StepStream {
 public:
  StepStream(Reader& reader, std::vector<std::size_t> step_indices, std::vector<std::int64_t> process_ranks,
             GradientLayout layout, std::size_t depth);
  StepStream(const StepStream&) = delete;
  StepStream& operator=(const StepStream&) = delete;
  /// Stops reading ahead; waits for the step that is being read.
  ~StepStream();

  /// The next step, or null after the last. What the call before returned becomes invalid. An error of the reader is
  /// rethrown here in its step's turn, and again by every later call.
  const StepData<T>* next();

  /// Time spent in reading so far, whether or not the caller had to wait for it.
  [[nodiscard]] double seconds_reading() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace psgd::dump
