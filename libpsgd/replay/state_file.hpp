#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/compress/power_sgd_state.hpp"
#include "libpsgd/dump/pending_file.hpp"
#include "libpsgd/replay/configuration.hpp"
#include "libpsgd/replay/spec.hpp"

/// State files: everything a replay needs to go on with identical results. HDF5, in the layout that the contract of
/// psgd-replay describes: attributes `format` = "psgd-state", `format_version`, `hook`, `arithmetic`, `residual`,
/// `dtype`, `world_size`, every PowerSGDState parameter, `iter`, the counters, `last_step` (the recorded number of the
/// step replayed last; absent when there was none, and in files of version 1.0), `process_ranks` (the recorded ids of
/// the rows below; absent in files of version 1.0); `/rng` (the 624 words; attribute `position`), `/q_memory/<bucket>`,
/// `/p_memory/<bucket>`, and
/// `/error/<bucket>` [W, length] or, in fused arithmetic, `/mean_error/<bucket>` [length] and `/deviation/<bucket>` [W,
/// length].
namespace psgd::replay {

/// The scalar part, which has to be known before a hook can be made.
struct StateHeader {
  std::string hook;
  Arithmetic arithmetic = Arithmetic::fused;
  compress::Residual residual = compress::Residual::averaged;
  DType dtype = DType::float32;
  std::int64_t world_size = 0;
  compress::PowerSGDOptions power_sgd;
  std::int64_t iter = 0;
  std::int64_t total_numel_before_compression = 0;
  std::int64_t total_numel_after_compression = 0;
  std::int64_t next_stats_report = 0;
  std::optional<std::int64_t> last_step;    ///< recorded number of the step replayed last
  std::vector<std::int64_t> process_ranks;  ///< recorded ids; empty: not known
};

/// Throws Error::input when the file is not a state file, is of a newer version, or holds values that no replay has.
StateHeader read_state_header(const std::filesystem::path& path);

/// Restores counters, random numbers and memory. Throws Error::input naming what differs when the file's buckets are
/// not the replay's.
template <class T>
void restore_state(const std::filesystem::path& path, const StateHeader& header, const GradientLayout& layout,
                   Configuration<T>& configuration);

/// Writes a state file and puts it in its target's place. `last_step`: recorded number of the step replayed last.
template <class T>
void save_state(dump::PendingFile& pending, const ResolvedSpec& resolved, const Selection& selection,
                std::optional<std::int64_t> last_step, Configuration<T>& configuration);

}  // namespace psgd::replay
