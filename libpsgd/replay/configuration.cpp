#include "libpsgd/replay/configuration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libpsgd/comm/registry.hpp"
#include "libpsgd/metrics/orthogonality.hpp"
#include "libpsgd/metrics/residual_norm.hpp"

namespace psgd::replay {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

template <class T>
compress::HookContext<T> hook_context(const Stage<T>& stage, Arithmetic arithmetic,
                                      comm::Communicator<T>& communicator) {
  compress::HookContext<T> context;
  context.backend = stage.backend;
  context.communicator = &communicator;
  context.layout = &stage.selection->layout;
  const std::size_t ranks = stage.selection->process_ranks.size();
  context.members = arithmetic == Arithmetic::fused ? 1 : ranks;
  context.member_weight = arithmetic == Arithmetic::fused ? static_cast<double>(ranks) : 1.0;
  context.log = stage.log;
  return context;
}

double orthogonality_after(const compress::FactorGrams& grams) {
  return grams.after == nullptr ? none : metrics::orthogonality(grams.after, grams.cols);
}

/// Records of a step follow the dump's order of parameters; hooks deliver tensors bucket by bucket.
std::vector<std::size_t> rows_by_tensor(const Selection& selection) {
  std::vector<std::size_t> rows;
  for (const Bucket& bucket : selection.layout.buckets) {
    for (const TensorSlot& slot : bucket.tensors) {
      const auto at = std::lower_bound(selection.parameters.begin(), selection.parameters.end(), slot.parameter);
      rows.push_back(static_cast<std::size_t>(at - selection.parameters.begin()));
    }
  }
  return rows;
}

}  // namespace

template <class T>
Configuration<T>::Configuration(const Stage<T>& stage, const ConfigurationSpec& spec)
    : stage_(stage),
      arithmetic_(spec.arithmetic),
      keeps_errors_(spec.entry->keeps_errors && spec.options.power_sgd.use_error_feedback),
      communicator_(comm::make_communicator(stage.transport, *stage.backend,
                                            static_cast<std::int64_t>(stage.selection->process_ranks.size()))),
      hook_(compress::make_hook(*spec.entry, spec.options, hook_context(stage, spec.arithmetic, *communicator_))),
      hazards_(*stage.dump, *stage.selection, spec.options),
      row_of_tensor_(rows_by_tensor(*stage.selection)),
      sink_(spec.sink) {
  if (spec.want_output) averaged_ = stage_.backend->template allocate<T>(static_cast<std::size_t>(layout().extent));
}

template <class T>
void Configuration<T>::run_bucket(std::size_t position, std::span<const T* const> gradients, const T* mean) {
  const T* const fused_member[] = {mean};
  compress::BucketGradients<T> bucket;
  bucket.position = position;
  bucket.is_last = position + 1 == layout().buckets.size();
  bucket.members = arithmetic_ == Arithmetic::fused ? std::span<const T* const>(fused_member) : gradients;
  bucket.mean = mean;
  if (!averaged_.empty()) bucket.averaged = averaged_.data() + layout().buckets[position].begin;
  hook_->run(bucket);
}

template <class T>
ParameterRecord Configuration<T>::parameter_record(std::int64_t step, const compress::TensorOutcome& outcome,
                                                   const TensorSlot& slot) const {
  ParameterRecord record;
  record.step = step;
  record.parameter = static_cast<std::size_t>(
      std::lower_bound(stage_.selection->parameters.begin(), stage_.selection->parameters.end(), slot.parameter) -
      stage_.selection->parameters.begin());
  record.compressed = outcome.compressed;
  record.rank = outcome.rank;
  record.bytes_sent = outcome.bytes_sent;
  record.measurement.sums = *outcome.sums;
  record.measurement.numel_before = outcome.numel_before;
  record.measurement.numel_after = outcome.numel_after;
  // Without an error memory the compressed target is the gradient itself.
  if (outcome.members.empty()) {
    record.measurement.target_sq = outcome.sums->gradient_sq;
    record.measurement.residual_sq = outcome.sums->difference_sq;
  }
  for (const backend::MemberSums& member : outcome.members) {
    record.measurement.target_sq += member.target_sq;
    record.measurement.residual_sq += member.residual_sq;
  }
  record.p_orthogonality = orthogonality_after(outcome.p);
  record.q_orthogonality = orthogonality_after(outcome.q);

  const std::size_t ranks = stage_.selection->process_ranks.size();
  if (!keeps_errors_) return record;
  record.residual_norms.assign(ranks, 0.0);
  if (outcome.members.size() == ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      record.residual_norms[rank] = std::sqrt(outcome.members[rank].residual_sq);
  }
  return record;
}

template <class T>
BucketRecord Configuration<T>::bucket_record(std::int64_t step, const compress::BucketOutcome& outcome,
                                             const Bucket& bucket) const {
  BucketRecord record;
  record.step = step;
  record.bucket = bucket.index;
  record.compressed = outcome.compressed;
  record.numel_before = outcome.numel_before;
  record.numel_after = outcome.numel_after;
  record.bytes_sent = outcome.bytes_sent;
  record.side = outcome.rows;
  record.p_orthogonality = orthogonality_after(outcome.p);
  record.q_orthogonality = orthogonality_after(outcome.q);
  return record;
}

template <class T>
void Configuration<T>::record_step(std::int64_t step, const RankMean<T>& ranks, std::span<const T* const> gradients,
                                   const StepSeconds& seconds) {
  records_.assign(row_of_tensor_.size(), {});
  bucket_records_.clear();
  bool compressed = false;
  std::size_t tensor = 0;
  for (std::size_t position = 0; position < layout().buckets.size(); ++position) {
    const Bucket& bucket = layout().buckets[position];
    const compress::BucketOutcome& outcome = hook_->outcome(position);
    for (std::size_t i = 0; i < bucket.tensors.size(); ++i, ++tensor) {
      records_[row_of_tensor_[tensor]] = parameter_record(step, outcome.tensors[i], bucket.tensors[i]);
    }
    bucket_records_.push_back(bucket_record(step, outcome, bucket));
    compressed = compressed || outcome.compressed;
    std::vector<const T*> here;
    for (const T* gradient : gradients) here.push_back(gradient + bucket.begin);
    hazards_.look_at_bucket(step, position, outcome, ranks, here);
  }
  if (compressed) seconds_.push_back(seconds);
  residual_norms_open_ = deviations_ != nullptr && deviations_->begun();
  if (!residual_norms_open_) hand_on();
}

template <class T>
void Configuration<T>::hand_on() {
  if (sink_) sink_(records_, bucket_records_);
}

template <class T>
void Configuration<T>::complete_residual_norms() {
  if (!residual_norms_open_) return;
  residual_norms_open_ = false;
  std::size_t tensor = 0;
  for (std::size_t position = 0; position < layout().buckets.size(); ++position) {
    for (std::size_t i = 0; i < layout().buckets[position].tensors.size(); ++i, ++tensor) {
      ParameterRecord& record = records_[row_of_tensor_[tensor]];
      for (std::size_t rank = 0; rank < record.residual_norms.size(); ++rank) {
        record.residual_norms[rank] =
            metrics::residual_norm(record.measurement.residual_sq, deviations_->error_dot(position, i, rank, place_),
                                   deviations_->deviation_sq(position, i, rank));
      }
    }
  }
  hand_on();
}

template <class T>
void summarize(Configuration<T>& configuration, const ErrorSummary& errors, const compress::HookEntry& entry,
               std::int64_t steps, Summary& summary) {
  std::vector<double> seconds;
  std::vector<double> own_seconds;
  for (const StepSeconds& step : configuration.seconds_of_compressed_steps()) {
    seconds.push_back(step.all);
    own_seconds.push_back(step.own / static_cast<double>(configuration.members()));
  }
  const compress::PowerSGDState* const state = configuration.hook().state();
  configuration.hazards().look_at_end(entry, static_cast<std::int64_t>(seconds.size()),
                                      state != nullptr ? state->iter : steps);
  summary.compression_stats = configuration.hook().compression_stats();
  summary.seconds_per_step = median(seconds);
  summary.seconds_compressing = median(std::move(own_seconds));
  summary.hazards = configuration.hazards().entries();
  summary.relative_error = errors.relative_error();
  summary.relative_error_whole_model = errors.relative_error_whole_model();
}

template void summarize(Configuration<float>&, const ErrorSummary&, const compress::HookEntry&, std::int64_t, Summary&);
template void summarize(Configuration<double>&, const ErrorSummary&, const compress::HookEntry&, std::int64_t,
                        Summary&);
template class Configuration<float>;
template class Configuration<double>;

}  // namespace psgd::replay
