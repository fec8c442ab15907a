#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/replay/pass_plan.hpp"
#include "libpsgd/replay/sweep.hpp"
#include "libpsgd/replay/sweep_pass.hpp"

/// The file that an interrupted sweep goes on from.
///
/// HDF5: attributes `format` = "psgd-sweep-state" and `format_version`; `/results`, what finished passes found and what
/// the one in hand has gathered, in the program's own binary form (see sweep_archive.hpp); and of the pass in hand
/// `/memory/<configuration>/<kind>_<bucket>_<member>`, each hook's arrays, `/rng/<configuration>`, and
/// `/deviation/<configuration>/<bucket>_<process rank>`, one set for all configurations of a start, under the first of
/// them. The file is replaced as a whole, so that there is a whole one whenever the program ends.
namespace psgd::replay {

class SweepCheckpoint {
 public:
  /// `identity` tells this sweep from others: a JSON object whose members are compared one by one.
  SweepCheckpoint(std::filesystem::path path, std::string identity);

  /// Reads what the file holds about finished passes into `result`; false when there is no file yet. Throws
  /// Error::input when it is another sweep's, naming what differs, damaged, or no such file at all.
  bool load(SweepResult& result);

  /// Whether the file holds the beginning of the pass after the finished ones.
  [[nodiscard]] bool has_pass() const noexcept { return has_pass_; }

  /// Puts that beginning into a pass that was just made.
  template <class T>
  void restore(SweepPass<T>& pass);

  /// Writes finished passes only.
  void save(SweepResult& result);

  /// Writes the pass in hand too, which has to be settled.
  template <class T>
  void save(SweepResult& result, SweepPass<T>& pass);

 private:
  std::filesystem::path path_;
  std::string identity_;
  bool has_pass_ = false;
  std::vector<std::uint8_t> pass_bytes_;  // of the archive, behind the finished passes
};

/// What a sweep is told apart by: its configurations, the dump's files with size and time, steps, process ranks,
/// parameters, and what is analysed.
std::string sweep_identity(const std::vector<ResolvedSpec>& resolved, const std::vector<Pass>& passes,
                           const SweepResult& result);

}  // namespace psgd::replay
