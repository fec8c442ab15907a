#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/replay/configuration.hpp"
#include "libpsgd/replay/rank_mean.hpp"
#include "libpsgd/replay/spectrum_analysis.hpp"

namespace psgd::replay {

/// Looks at the singular values of every parameter in each N-th step, while the steps go by: of the mean gradient once,
/// and of what every configuration is to compress, where it compresses that parameter to a rank of its own.
///
/// Keeps a copy of one bucket and, of each parameter, the leading right singular vectors of the analysed step before.
template <class T>
class SpectrumWatch {
 public:
  /// `configurations`: the sweep's number of each configuration in the engine, in order. `gradients`: false when an
  /// earlier pass has looked at the mean gradients already. `analysis` receives the rows.
  SpectrumWatch(const Stage<T>& stage, ThreadPool& pool, std::vector<std::size_t> configurations, bool gradients,
                SpectrumAnalysis& analysis);

  /// `index`: of the step among those replayed.
  void begin_step(std::int64_t step, std::size_t index);

  /// Whether this step is one of those to analyse; the calls below do nothing otherwise.
  [[nodiscard]] bool looks() const noexcept { return looks_; }

  /// The mean gradient of the bucket at `position`.
  void look_at_mean(std::size_t position, const T* mean);

  /// Before a configuration runs the bucket: keeps what it is about to compress.
  void keep_target(std::size_t position, const T* mean, const Configuration<T>& configuration);

  /// After it ran: the singular values of what it compressed. `place`: of the configuration in the engine.
  void look_at_target(std::size_t position, std::size_t place, const Configuration<T>& configuration);

  /// What later steps are compared with, for saving and restoring.
  struct Memory {
    std::vector<std::vector<double>> directions;                            ///< by parameter, of the step before
    std::map<std::pair<std::size_t, std::size_t>, double> first_residuals;  ///< by sweep's configuration and parameter
  };
  [[nodiscard]] Memory& memory() noexcept { return memory_; }

  /// After Backend::synchronize: errors, gaps, residuals and the spread of process ranks.
  void end_step(std::span<const std::unique_ptr<Configuration<T>>> configurations, const RankMean<T>& ranks);

 private:
  /// A row of this step that waits for the sums, and where they will be.
  struct Open {
    std::size_t row = 0;
    std::size_t position = 0;
    std::size_t tensor = 0;
    std::size_t place = 0;
  };
  using Tensors = std::vector<std::size_t>;

  [[nodiscard]] const Bucket& bucket(std::size_t position) const { return stage_.selection->layout.buckets[position]; }
  [[nodiscard]] std::size_t parameter_of(const TensorSlot& slot) const;
  void look(std::size_t position, const T* values, const Tensors& tensors, std::optional<std::size_t> place);
  void describe(const metrics::Spectrum& spectrum, SpectrumRow& row) const;
  void compare_directions(metrics::Spectrum& spectrum, SpectrumRow& row);
  [[nodiscard]] std::int64_t drift_dimension(const TensorSlot& slot) const;
  void complete_gradient(const Open& open, const RankMean<T>& ranks);
  void complete_target(const Open& open, const Configuration<T>& configuration);
  void mean_error(std::size_t position, const Configuration<T>& configuration, std::vector<T>& out) const;

  Stage<T> stage_;
  ThreadPool& pool_;
  std::vector<std::size_t> configurations_;
  bool gradients_;
  SpectrumAnalysis& analysis_;
  bool looks_ = false;
  std::int64_t step_ = 0;
  std::vector<T> target_;
  std::vector<Open> open_;
  Memory memory_;
};

/// Bytes that looking takes beside a replay's own: a bucket, and what decomposing the largest matrices at once needs.
std::uint64_t spectrum_bytes(const Selection& selection, DType dtype, std::size_t threads);

}  // namespace psgd::replay
