#pragma once

#include "libpsgd/replay/archive.hpp"
#include "libpsgd/replay/sweep.hpp"
#include "libpsgd/replay/wire_summary.hpp"

/// How a sweep's results go into an archive and back.
namespace psgd::replay {

template <class Archive>
void visit(Archive& archive, metrics::Bounded& value) {
  visit_all(archive, value.value, value.lower, value.upper);
}

template <class Archive>
void visit(Archive& archive, metrics::Hazard& hazard) {
  visit_all(archive, hazard.kind, hazard.step, hazard.parameter, hazard.process_rank, hazard.value, hazard.text,
            hazard.count);
}

template <class Archive>
void visit(Archive& archive, compress::CompressionStats& stats) {
  visit_all(archive, stats.rate, stats.numel_before, stats.numel_after);
}

template <class Archive>
void visit(Archive& archive, Spread& spread) {
  visit_all(archive, spread.mean, spread.median, spread.max);
}

template <class Archive>
void visit(Archive& archive, model::BucketCost& cost) {
  visit_all(archive, cost.dense_bytes, cost.uncompressed_bytes, cost.p_bytes, cost.q_bytes, cost.gathered_bytes,
            cost.compress_seconds);
}

template <class Archive>
void visit(Archive& archive, WireSums& sums) {
  visit_all(archive, sums.steps, sums.uncompressed, sums.compressed, sums.p_share);
}

template <class Archive>
void visit(Archive& archive, WireSummary& wire) {
  visit_all(archive, wire.sums(), wire.compressed_elements());
}

template <class Archive>
void visit(Archive& archive, ParameterSummary& summary) {
  visit_all(archive, summary.compressed_steps, summary.mean_difference_sq, summary.mean_gradient_sq,
            summary.mean_gradient_sq_all_steps, summary.mean_relative_error, summary.numel_before, summary.numel_after,
            summary.rank, summary.mean_bytes_sent, summary.non_finite_gradients, summary.first_residual_norms,
            summary.last_residual_norms);
}

template <class Archive>
void visit(Archive& archive, ErrorSummary::Sums& sums) {
  visit_all(archive, sums.summary, sums.relative_error, sums.relative_errors, sums.steps);
}

template <class Archive>
void visit(Archive& archive, ErrorSummary& errors) {
  ErrorSummary::Series& series = errors.series();
  visit_all(archive, series.of_records, series.of_steps, series.of_sound_parts, series.parameters);
}

template <class Archive>
void visit(Archive& archive, StepSeconds& seconds) {
  visit_all(archive, seconds.all, seconds.own);
}

template <class Archive>
void visit(Archive& archive, Summary& summary) {
  visit_all(archive, summary.compression_stats, summary.relative_error, summary.relative_error_whole_model,
            summary.seconds_per_step, summary.seconds_compressing, summary.seconds_read, summary.seconds_upload,
            summary.seconds_total, summary.hazards);
}

template <class Archive>
void visit(Archive& archive, SpectrumRow& row) {
  visit_all(archive, row.step, row.parameter, row.configuration, row.finite, row.exact, row.norm, row.values, row.tail,
            row.rest, row.stable_rank, row.effective_rank, row.optimal_errors, row.drift_dimension, row.drift,
            row.rank_spread, row.rank, row.relative_error, row.gap, row.residual_norm, row.residual_growth);
}

/// The results; what was asked and what the dump says are known anyway.
template <class Archive>
void visit(Archive& archive, ConfigurationResult& configuration) {
  visit_all(archive, configuration.summary, configuration.parameters, configuration.relative_error_sound_model,
            configuration.buckets);
}

/// What finished passes left. `configurations` is as long as the grid.
template <class Archive>
void visit(Archive& archive, SweepResult& result) {
  visit_all(archive, result.passes, result.steps, result.seconds_read);
  for (ConfigurationResult& configuration : result.configurations) visit(archive, configuration);
  if (result.spectrum) visit_all(archive, result.spectrum->steps, result.spectrum->rows);
}

}  // namespace psgd::replay
