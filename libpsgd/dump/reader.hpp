#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libpsgd/dump/description.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::dump {

struct ReaderOptions {
  /// The most bytes this reader may hold beside what its callers give it; reading that needs more throws
  /// Error::unavailable. 0: no limit. A StepStream counts its buffers against the same limit.
  std::uint64_t memory_limit = 0;
  /// Lets HDF5 load filter plug-ins, which run code that the file names. Process-wide, as HDF5 keeps it.
  bool allow_plugins = false;
  /// Threads that inflate and convert, the caller's included; 0: one for each processor this process may run on.
  std::size_t threads = 0;
};

/// Reads a dump in layout v1 (datasets/README.md), one file or several that hold disjoint process ranks of one
/// recording.
///
/// Opening reads what describes the gradients and checks all of it: format, names, shapes, types, storage, and that the
/// files agree. Nothing of the gradients' size is read or allocated before read_step. Errors are Error::input and begin
/// with the file's path.
///
/// One thread at a time may call read_step; the other members only look at memory and may be called from any thread.
class Reader {
 public:
  explicit Reader(const std::vector<std::filesystem::path>& files, ReaderOptions options = {});
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();

  [[nodiscard]] const Description& description() const noexcept;
  [[nodiscard]] const ReaderOptions& options() const noexcept;

  /// The most bytes that read_step holds for itself: values on their way through inflating and conversion.
  [[nodiscard]] std::uint64_t working_bytes() const noexcept;

  /// Reads one step of the parameters that `layout` places, T = float or double.
  ///
  /// out[i] points to layout.extent elements and receives process_ranks[i]'s gradients, each tensor from its slot's
  /// `begin` on, in memory order: a channels_last tensor of logical extents (n, c, h, w) is written as (n, h, w, c),
  /// channels_last_3d likewise. Elements that belong to no tensor are not touched. Values are converted from the file's
  /// type to T; float64 rounds to nearest for T = float. NaN and infinities are data and pass through.
  ///
  /// Reads each byte of the step once (a chunk that several steps share: once a step) and holds a few MiB for each
  /// thread, or one chunk where chunks are larger. Throws Error::input for a record that was never written or that
  /// cannot be decoded.
  template <class T>
  void read_step(std::size_t step_index, std::span<const std::int64_t> process_ranks, const GradientLayout& layout,
                 std::span<T* const> out);

  /// The loss scale in force (the recorded gradient is still multiplied by it); 1 where none was recorded.
  [[nodiscard]] float loss_scale(std::size_t step_index, std::int64_t process_rank) const;
  /// The training loss; nothing where it was not recorded (NaN counts as not recorded).
  [[nodiscard]] std::optional<double> loss(std::size_t step_index, std::int64_t process_rank) const;
  /// Micro-batches accumulated in this step; 1 where not recorded.
  [[nodiscard]] std::int32_t accumulation(std::size_t step_index) const;
  /// False where the parameter was unused in that step (its gradient is recorded as zeros).
  [[nodiscard]] bool present(std::size_t step_index, std::int64_t process_rank, std::size_t parameter) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace psgd::dump
