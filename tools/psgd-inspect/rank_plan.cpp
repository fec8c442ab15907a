#include "tools/psgd-inspect/rank_plan.hpp"

#include "libpsgd/compress/power_sgd.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd::tools::inspect {
namespace {

double ratio(std::int64_t before, std::int64_t after) {
  return after > 0 ? static_cast<double>(before) / static_cast<double>(after) : 0.0;
}

std::int64_t batched_elements(const GradientLayout& layout, std::int64_t rank) {
  std::int64_t elements = 0;
  for (const Bucket& bucket : layout.buckets) {
    const std::int64_t side = square_side(bucket.length);
    if (side < rank) return 0;
    elements += 2 * side * rank;
  }
  return elements;
}

}  // namespace

double RankPlan::rate() const { return ratio(numel_before, numel_after); }

double RankPlan::batched_rate() const { return ratio(numel_before, batched_numel_after); }

RankPlan plan_rank(std::span<const Parameter> parameters, const GradientLayout& layout, std::int64_t rank,
                   double min_compression_rate) {
  RankPlan plan;
  plan.rank = rank;
  for (const Parameter& parameter : parameters) {
    compress::CompressionDecision decision;
    if (!parameter.shape.empty()) {
      const MatrixExtents matrix = matrix_extents(parameter.shape);
      decision = compress::should_compress(matrix.rows, matrix.cols, rank, min_compression_rate);
    }
    plan.compressed.push_back(decision.compress);
    plan.compressed_parameters += decision.compress ? 1 : 0;
    plan.numel_before += decision.numel_before;
    plan.numel_after += decision.numel_after;
  }
  plan.batched_numel_after = batched_elements(layout, rank);
  return plan;
}

}  // namespace psgd::tools::inspect
