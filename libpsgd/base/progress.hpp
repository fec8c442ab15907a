#pragma once

#include <cstdint>
#include <string_view>

namespace psgd {

/// Receives how far a long operation has come. The library calls it and never prints; the programs draw a bar.
///
/// One operation at a time: begin, any number of advances, end. Calls come from one thread.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  virtual ~Progress() = default;

  /// Starts an operation of `total` units (0: not known) called `unit` in the plural ("steps").
  virtual void begin(std::uint64_t total, std::string_view unit) = 0;
  virtual void advance(std::uint64_t units) = 0;
  virtual void end() = 0;
};

/// Takes everything and shows nothing: what a caller without interest passes.
Progress& no_progress();

/// Calls begin now and end when leaving the scope, exceptions included.
class ProgressScope {
 public:
  ProgressScope(Progress& progress, std::uint64_t total, std::string_view unit) : progress_(progress) {
    progress_.begin(total, unit);
  }
  ProgressScope(const ProgressScope&) = delete;
  ProgressScope& operator=(const ProgressScope&) = delete;
  ~ProgressScope() { progress_.end(); }

  void advance(std::uint64_t units = 1) { progress_.advance(units); }

 private:
  Progress& progress_;
};

}  // namespace psgd
