#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libpsgd/compress/registry.hpp"
#include "libpsgd/model/step_time.hpp"
#include "libpsgd/replay/result.hpp"
#include "libpsgd/replay/selection.hpp"

namespace psgd::replay {

/// Bytes that a configuration's process ranks sent of one bucket, summed over the steps that compressed.
struct WireSums {
  double steps = 0;
  double uncompressed = 0;  ///< of tensors that were not compressed
  double compressed = 0;    ///< of those that were
  double p_share = 0;       ///< sum over steps of the part of `compressed` that went in the first of two messages
};

/// Gathers what goes over the wire, step by step.
class WireSummary {
 public:
  WireSummary() = default;
  WireSummary(const Selection& selection, const compress::HookEntry& entry);

  /// The records of one step: parameters in the dump's order, buckets ascending. Steps that compress nothing are those
  /// before the start, and do not count.
  void add_step(std::span<const ParameterRecord> records, std::span<const BucketRecord> buckets);

  /// Means over the steps that compressed, in the order in which the backward pass makes the buckets ready; as the
  /// bucket is where none did. `seconds`: of compressing a step, shared out among buckets by their compressed elements.
  [[nodiscard]] std::vector<model::BucketCost> bucket_costs(double seconds) const;

  /// For saving and restoring.
  [[nodiscard]] std::vector<WireSums>& sums() noexcept { return sums_; }
  [[nodiscard]] std::vector<double>& compressed_elements() noexcept { return compressed_elements_; }

 private:
  /// A parameter's place: its record, its bucket's position, its matrix view.
  struct Place {
    std::size_t record = 0;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
  };

  compress::Collective collective_ = compress::Collective::all_reduce;
  int messages_ = 1;
  std::vector<double> dense_bytes_;          // by bucket
  std::vector<std::vector<Place>> tensors_;  // by bucket
  std::vector<double> compressed_elements_;  // by bucket, of the latest step that compressed
  std::vector<WireSums> sums_;               // by bucket
};

}  // namespace psgd::replay
