#include "libpsgd/compress/power_sgd.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "libpsgd/compress/bucket_sums.hpp"
#include "libpsgd/compress/power_iteration.hpp"

namespace psgd::compress {
namespace {

/// Which tensors of a bucket are compressed, and how.
struct BucketPlan {
  std::vector<MatrixPlan> compressed;  // grouped by shape, in first-seen order
  std::vector<DrawGroup> draws;
  std::vector<std::size_t> uncompressed;  // tensors, in bucket order
};

BucketPlan plan_bucket(const Bucket& bucket, const PowerSGDOptions& options) {
  struct Group {
    MatrixExtents extents;
    std::vector<MatrixPlan> matrices;
  };
  std::vector<Group> groups;
  BucketPlan plan;
  for (std::size_t i = 0; i < bucket.tensors.size(); ++i) {
    const TensorSlot& slot = bucket.tensors[i];
    const CompressionDecision decision =
        should_compress(slot.rows, slot.cols, options.matrix_approximation_rank, options.min_compression_rate);
    if (!decision.compress) {
      plan.uncompressed.push_back(i);
      continue;
    }
    const MatrixExtents extents{slot.rows, slot.cols};
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& known) { return known.extents == extents; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{extents, {}});
    group->matrices.push_back({slot.rows, slot.cols, decision.rank, slot.begin - bucket.begin, i});
  }
  for (const Group& group : groups) {
    const std::size_t first = plan.compressed.size();
    plan.compressed.insert(plan.compressed.end(), group.matrices.begin(), group.matrices.end());
    if (options.batch_tensors_with_same_shape) {
      plan.draws.push_back({first, group.matrices.size()});
    } else {
      for (std::size_t i = 0; i < group.matrices.size(); ++i) plan.draws.push_back({first + i, 1});
    }
  }
  return plan;
}

template <class T>
class PowerSGD final : public Hook<T> {
 public:
  PowerSGD(const HookOptions& options, const HookContext<T>& context)
      : Hook<T>(*context.layout), options_(options), context_(context), state_(options.power_sgd, context.log) {
    buckets_.resize(context.layout->buckets.size());
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      buckets_[i].plan = plan_bucket(context.layout->buckets[i], state_.options);
      buckets_[i].sums = BucketSums<T>(context, i);
    }
  }

  void run(const BucketGradients<T>& gradients) override;
  [[nodiscard]] PowerSGDState* state() override { return &state_; }
  [[nodiscard]] CompressionStats compression_stats() const override { return state_.compression_stats(); }
  [[nodiscard]] T* error_memory(std::size_t position, std::size_t member) const override {
    const auto& errors = buckets_[position].errors;
    return errors.empty() ? nullptr : errors[member].data();
  }
  [[nodiscard]] bool feeds_back_now() const override {
    return state_.options.use_error_feedback && state_.iter >= state_.options.start_powerSGD_iter;
  }
  void allocate_memory(std::size_t position, bool error, bool factors) override;
  [[nodiscard]] std::vector<MemoryView<T>> memory() const override;

 private:
  struct BucketMemory {
    BucketPlan plan;
    BucketSums<T> sums;
    std::vector<backend::Buffer<T>> errors;  // a member each; empty before the first error feedback
    std::optional<PowerIteration<T>> iteration;
    bool factors_kept = false;                     // P and Q hold a warm start's values
    std::vector<backend::Buffer<T>> uncompressed;  // a member each, packed; per-rank arithmetic only
  };

  [[nodiscard]] const Bucket& bucket(std::size_t position) const { return context_.layout->buckets[position]; }
  void run_vanilla(const BucketGradients<T>& gradients);
  void count(std::size_t position, BucketOutcome& outcome);
  void ensure_errors(std::size_t position);
  void ensure_factors(std::size_t position);
  void prepare_q(std::size_t position);
  void average_uncompressed(const BucketGradients<T>& gradients);
  void average_across_members(const BucketGradients<T>& gradients);
  void compress(const BucketGradients<T>& gradients);

  HookOptions options_;
  HookContext<T> context_;
  PowerSGDState state_;
  std::vector<BucketMemory> buckets_;
};

template <class T>
void PowerSGD<T>::run(const BucketGradients<T>& gradients) {
  if (state_.iter < state_.options.start_powerSGD_iter) {
    run_vanilla(gradients);
    return;
  }
  BucketMemory& memory = buckets_[gradients.position];
  BucketOutcome& outcome = this->outcomes_[gradients.position];
  memory.sums.reset(outcome, state_.options.use_error_feedback);
  if (state_.options.use_error_feedback) ensure_errors(gradients.position);
  count(gradients.position, outcome);
  state_.maybe_report_compression_stats(gradients.is_last);
  prepare_q(gradients.position);
  average_uncompressed(gradients);
  compress(gradients);
  if (!state_.options.warm_start) memory.factors_kept = false;
  state_.maybe_increase_iter(gradients.is_last);
}

template <class T>
void PowerSGD<T>::run_vanilla(const BucketGradients<T>& gradients) {
  state_.maybe_increase_iter(gradients.is_last);
  BucketSums<T>& sums = buckets_[gradients.position].sums;
  sums.reset(this->outcomes_[gradients.position], false);
  sums.pass_through(gradients);
}

template <class T>
void PowerSGD<T>::count(std::size_t position, BucketOutcome& outcome) {
  const std::int64_t after_before = state_.total_numel_after_compression;
  outcome.compressed = !buckets_[position].plan.compressed.empty();
  for (std::size_t i = 0; i < outcome.tensors.size(); ++i) {
    const TensorSlot& slot = bucket(position).tensors[i];
    const CompressionDecision decision = should_compress(slot.rows, slot.cols, state_.options.matrix_approximation_rank,
                                                         state_.options.min_compression_rate);
    outcome.tensors[i].compressed = decision.compress;
    outcome.tensors[i].rank = decision.compress ? decision.rank : 0;
    outcome.tensors[i].numel_after = decision.numel_after;
    outcome.tensors[i].bytes_sent = bytes_of(decision.numel_after, bucket(position).dtype);
    state_.total_numel_before_compression += decision.numel_before;
    state_.total_numel_after_compression += decision.numel_after;
  }
  outcome.numel_after = state_.total_numel_after_compression - after_before;
  outcome.bytes_sent = bytes_of(outcome.numel_after, bucket(position).dtype);
}

template <class T>
void PowerSGD<T>::ensure_errors(std::size_t position) {
  BucketMemory& memory = buckets_[position];
  if (!memory.errors.empty()) return;
  state_.info(
      fmt::format("A zero tensor of length {} that represents local error is created.", bucket(position).length));
  allocate_memory(position, true, false);
}

template <class T>
void PowerSGD<T>::allocate_memory(std::size_t position, bool error, bool factors) {
  BucketMemory& memory = buckets_[position];
  if (error) {
    for (std::size_t member = 0; member < context_.members; ++member) {
      memory.errors.push_back(
          context_.backend->template allocate<T>(static_cast<std::size_t>(bucket(position).capacity)));
    }
  }
  if (factors) {
    ensure_factors(position);
    memory.factors_kept = true;
  }
}

template <class T>
void PowerSGD<T>::ensure_factors(std::size_t position) {
  BucketMemory& memory = buckets_[position];
  if (!memory.iteration) memory.iteration.emplace(context_, memory.plan.compressed, memory.plan.draws);
}

template <class T>
void PowerSGD<T>::prepare_q(std::size_t position) {
  BucketMemory& memory = buckets_[position];
  ensure_factors(position);
  if (memory.factors_kept) return;
  if (state_.options.warm_start) {
    state_.info(fmt::format("Allocating contiguous memory of length {} for Ps, and of length {} for Qs, respectively.",
                            memory.iteration->p().size(), memory.iteration->q().size()));
  }
  const DType draw_dtype = options_.draw_in_compute_dtype ? dtype_of<T> : bucket(position).dtype;
  memory.iteration->draw_q(state_.rng.randint(1'000'000'000), draw_dtype);
  memory.factors_kept = true;
}

template <class T>
void PowerSGD<T>::average_uncompressed(const BucketGradients<T>& gradients) {
  BucketMemory& memory = buckets_[gradients.position];
  if (context_.members > 1) {
    average_across_members(gradients);
    return;
  }
  // The one member is the mean already, and its error memory stays zero where nothing is compressed.
  memory.sums.pass_through(gradients, memory.plan.uncompressed);
}

template <class T>
void PowerSGD<T>::average_across_members(const BucketGradients<T>& gradients) {
  BucketMemory& memory = buckets_[gradients.position];
  backend::Backend<T>& backend = *context_.backend;
  const Bucket& here = bucket(gradients.position);
  std::int64_t length = 0;
  for (const std::size_t i : memory.plan.uncompressed) length += here.tensors[i].numel;
  if (memory.uncompressed.empty()) {
    for (std::size_t member = 0; member < context_.members; ++member) {
      memory.uncompressed.push_back(backend.template allocate<T>(static_cast<std::size_t>(length)));
    }
  }
  std::vector<T*> contributions;
  for (std::size_t member = 0; member < context_.members; ++member) {
    T* packed = memory.uncompressed[member].data();
    contributions.push_back(packed);
    for (const std::size_t i : memory.plan.uncompressed) {
      const std::int64_t at = here.tensors[i].begin - here.begin;
      const T* input = gradients.members[member] + at;
      if (!memory.errors.empty()) {
        T* error = memory.errors[member].data() + at;
        backend.add(input, error, here.tensors[i].numel);
        input = error;
      }
      backend.copy(input, packed, here.tensors[i].numel);
      packed += here.tensors[i].numel;
    }
  }
  context_.communicator->all_reduce_sum(contributions, length);
  T* average = contributions.front();
  backend.divide(average, static_cast<double>(context_.communicator->world_size()), average, length);
  for (const std::size_t i : memory.plan.uncompressed) {
    memory.sums.finish_uncompressed(gradients, i, average, memory.errors, options_.residual);
    average += here.tensors[i].numel;
  }
}

template <class T>
void PowerSGD<T>::compress(const BucketGradients<T>& gradients) {
  BucketMemory& memory = buckets_[gradients.position];
  if (memory.plan.compressed.empty()) return;
  std::vector<T*> errors;
  for (const backend::Buffer<T>& error : memory.errors) errors.push_back(error.data());
  IterationStep<T> step;
  step.gradients = gradients.members;
  step.errors = errors;
  step.reference = gradients.mean;
  step.output = gradients.averaged;
  step.residual = options_.residual;
  step.tensor_sums = memory.sums.tensor_sums();
  step.member_sums = errors.empty() ? nullptr : memory.sums.member_sums();
  const Bucket& here = bucket(gradients.position);
  memory.iteration->run(
      step, {options_.orthogonalization, state_.options.orthogonalization_epsilon, is_half_precision(here.dtype)});

  BucketOutcome& outcome = this->outcomes_[gradients.position];
  for (std::size_t i = 0; i < memory.plan.compressed.size(); ++i) {
    TensorOutcome& tensor = outcome.tensors[memory.plan.compressed[i].tensor];
    tensor.p = memory.iteration->p_grams(i);
    tensor.q = memory.iteration->q_grams(i);
  }
}

template <class T>
std::vector<MemoryView<T>> PowerSGD<T>::memory() const {
  std::vector<MemoryView<T>> views;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& here = bucket(i);
    for (std::size_t member = 0; member < buckets_[i].errors.size(); ++member) {
      views.push_back(
          {MemoryView<T>::Kind::error, here.index, member, buckets_[i].errors[member].data(), here.capacity});
    }
    if (!buckets_[i].factors_kept) continue;
    const auto p = buckets_[i].iteration->p();
    const auto q = buckets_[i].iteration->q();
    views.push_back({MemoryView<T>::Kind::p, here.index, 0, p.data(), static_cast<std::int64_t>(p.size())});
    views.push_back({MemoryView<T>::Kind::q, here.index, 0, q.data(), static_cast<std::int64_t>(q.size())});
  }
  return views;
}

}  // namespace

CompressionDecision should_compress(std::int64_t rows, std::int64_t cols, std::int64_t matrix_approximation_rank,
                                    double min_compression_rate) {
  CompressionDecision decision;
  decision.rank = std::min({rows, cols, matrix_approximation_rank});
  decision.numel_before = rows * cols;
  const std::int64_t compressed = (rows + cols) * decision.rank;
  decision.compress =
      static_cast<double>(compressed) * min_compression_rate < static_cast<double>(decision.numel_before);
  decision.numel_after = decision.compress ? compressed : decision.numel_before;
  return decision;
}

template <class T>
std::unique_ptr<Hook<T>> power_sgd(const HookOptions& options, const HookContext<T>& context) {
  return std::make_unique<PowerSGD<T>>(options, context);
}

template std::unique_ptr<Hook<float>> power_sgd(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> power_sgd(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
