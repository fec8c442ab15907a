#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "libpsgd/backend/registry.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/replay/engine.hpp"
#include "libpsgd/replay/pass_plan.hpp"
#include "libpsgd/replay/spectrum_watch.hpp"
#include "libpsgd/replay/sweep.hpp"
#include "libpsgd/replay/wire_summary.hpp"

namespace psgd::replay {

/// What all passes share.
struct Sweep {
  const ReplayEnvironment& environment;
  dump::Reader& reader;
  const std::vector<ResolvedSpec>& resolved;
  Progress& progress;
};

/// One pass on its way through the dump, and everything that has to be kept to go on with it later.
template <class T>
class SweepPass {
 public:
  /// `result` receives what the pass finds; it is the first that looks at the mean gradients when `result.passes` is 0.
  SweepPass(const Sweep& sweep, const Pass& pass, SweepResult& result);
  // Sinks and the spectrum refer to members.
  SweepPass(const SweepPass&) = delete;
  SweepPass& operator=(const SweepPass&) = delete;
  ~SweepPass() = default;

  /// Goes on after the steps done, until they end or a stop is asked for: false then. `after_step` is called between
  /// steps, when everything of the steps done is complete except residual norms; `settle` completes these.
  bool run(const std::function<void()>& after_step);

  /// Completes the residual norms of the latest step, so that nothing is open. Costs a pass over the deviations.
  void settle() { engine_.finish(); }

  /// Writes the pass's results where the sweep's are.
  void summarize_into_result();

  [[nodiscard]] Engine<T>& engine() noexcept { return engine_; }
  [[nodiscard]] const GradientLayout& layout() const noexcept { return pass_.selection.layout; }
  [[nodiscard]] backend::Backend<T>& backend() noexcept { return *backend_; }
  [[nodiscard]] std::vector<std::int64_t>& steps() noexcept { return steps_; }
  [[nodiscard]] std::vector<ErrorSummary>& errors() noexcept { return errors_; }
  [[nodiscard]] std::vector<WireSummary>& wires() noexcept { return wires_; }
  [[nodiscard]] SpectrumWatch<T>* watch() noexcept { return watch_ ? &*watch_ : nullptr; }

 private:
  [[nodiscard]] std::vector<ConfigurationSpec> specs();

  const Sweep& sweep_;
  const Pass& pass_;
  SweepResult& result_;
  ThreadPool pool_;
  std::unique_ptr<backend::Backend<T>> backend_;
  Stage<T> stage_;
  std::vector<ErrorSummary> errors_;
  std::vector<WireSummary> wires_;
  std::vector<ConfigurationSpec> specs_;
  std::optional<SpectrumWatch<T>> watch_;
  Engine<T> engine_;
  std::vector<std::int64_t> steps_;  // done, recorded numbers
};

}  // namespace psgd::replay
