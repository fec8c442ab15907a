#include "libpsgd/replay/wire_summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace psgd::replay {

WireSummary::WireSummary(const Selection& selection, const compress::HookEntry& entry)
    : collective_(entry.collective), messages_(entry.messages) {
  const std::vector<std::size_t>& chosen = selection.parameters;
  for (const Bucket& bucket : selection.layout.buckets) {
    dense_bytes_.push_back(static_cast<double>(bucket.length) * static_cast<double>(size_of(bucket.dtype)));
    std::vector<Place>& places = tensors_.emplace_back();
    for (const TensorSlot& slot : bucket.tensors) {
      const auto at = std::lower_bound(chosen.begin(), chosen.end(), slot.parameter) - chosen.begin();
      places.push_back({static_cast<std::size_t>(at), slot.rows, slot.cols});
    }
  }
  sums_.resize(dense_bytes_.size());
  compressed_elements_.resize(dense_bytes_.size());
}

void WireSummary::add_step(std::span<const ParameterRecord> records, std::span<const BucketRecord> buckets) {
  if (std::none_of(buckets.begin(), buckets.end(), [](const BucketRecord& bucket) { return bucket.compressed; }))
    return;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    double uncompressed = 0;
    double rows = 0;
    double rows_and_cols = 0;
    compressed_elements_[i] = 0;
    for (const Place& place : tensors_[i]) {
      const ParameterRecord& record = records[place.record];
      if (!record.compressed) {
        uncompressed += record.bytes_sent;
        continue;
      }
      compressed_elements_[i] += static_cast<double>(record.measurement.numel_before);
      rows += static_cast<double>(place.rows * record.rank);
      rows_and_cols += static_cast<double>((place.rows + place.cols) * record.rank);
    }
    sums_[i].steps += 1;
    sums_[i].uncompressed += uncompressed;
    const double compressed = buckets[i].bytes_sent - uncompressed;
    sums_[i].compressed += compressed;
    const bool square = buckets[i].side > 0;
    sums_[i].p_share += compressed * (square || rows_and_cols == 0 ? 0.5 : rows / rows_and_cols);
  }
}

std::vector<model::BucketCost> WireSummary::bucket_costs(double seconds) const {
  const double elements = std::accumulate(compressed_elements_.begin(), compressed_elements_.end(), 0.0);
  std::vector<model::BucketCost> costs;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    model::BucketCost& cost = costs.emplace_back();
    cost.dense_bytes = dense_bytes_[i];
    const WireSums& sums = sums_[i];
    if (sums.steps == 0) {
      cost.uncompressed_bytes = cost.dense_bytes;
      continue;
    }
    cost.uncompressed_bytes = sums.uncompressed / sums.steps;
    const double compressed = sums.compressed / sums.steps;
    if (collective_ == compress::Collective::all_gather) {
      cost.gathered_bytes = compressed;
    } else {
      cost.p_bytes = messages_ == 2 ? sums.p_share / sums.steps : compressed;
      cost.q_bytes = compressed - cost.p_bytes;
    }
    if (std::isfinite(seconds) && elements > 0) cost.compress_seconds = seconds * compressed_elements_[i] / elements;
  }
  return costs;
}

}  // namespace psgd::replay
