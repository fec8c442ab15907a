#include "libpsgd/compress/one_factor.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "libpsgd/base/torch_generator.hpp"
#include "libpsgd/compress/bucket_sums.hpp"
#include "libpsgd/compress/power_iteration.hpp"

namespace psgd::compress {
namespace {

PowerSGDOptions one_factor_options(const PowerSGDOptions& given) {
  PowerSGDOptions options;
  options.matrix_approximation_rank = given.matrix_approximation_rank;
  options.min_compression_rate = given.min_compression_rate;
  options.random_seed = given.random_seed;
  options.use_error_feedback = given.use_error_feedback;
  return options;
}

/// The matrices of a bucket that are compressed, equal shapes together in first-seen order.
std::vector<MatrixPlan> plan_matrices(const Bucket& bucket, const OneFactorRules& rules, const PowerSGDOptions& options,
                                      std::vector<std::size_t>& uncompressed) {
  std::vector<std::vector<MatrixPlan>> groups;
  for (std::size_t i = 0; i < bucket.tensors.size(); ++i) {
    const TensorSlot& slot = bucket.tensors[i];
    const std::int64_t rank = rules.rank(slot, options);
    if (rank < 0) {
      uncompressed.push_back(i);
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<MatrixPlan>& known) {
      return known.front().rows == slot.rows && known.front().cols == slot.cols;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), std::vector<MatrixPlan>{});
    group->push_back({slot.rows, slot.cols, rank, slot.begin - bucket.begin, i});
  }
  std::vector<MatrixPlan> plan;
  for (const std::vector<MatrixPlan>& group : groups) plan.insert(plan.end(), group.begin(), group.end());
  return plan;
}

template <class Draw, class T>
void draw(TorchGenerator& generator, std::span<T> out) {
  std::vector<Draw> numbers(out.size());
  generator.randn(std::span<Draw>(numbers));
  std::transform(numbers.begin(), numbers.end(), out.begin(), [](Draw number) { return static_cast<T>(number); });
}

/// One of the two factors of all matrices of a bucket, one after the other.
template <class T>
struct FactorMemory {
  backend::Buffer<T> data;
  std::vector<backend::Buffer<T>> own;  // each member's before the sum; empty for a single one
  std::vector<std::int64_t> begin;      // by matrix, and the end
  std::vector<backend::Factor<T>> factors;
  backend::Buffer<double> before;  // Gram matrices around the orthogonalization
  backend::Buffer<double> after;
};

template <class T>
class OneFactor final : public Hook<T> {
 public:
  OneFactor(const OneFactorRules& rules, const HookOptions& options, const HookContext<T>& context);

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
  using Tasks = std::vector<backend::MatrixTask<T>>;

  struct BucketMemory {
    BucketSums<T> sums;
    std::vector<MatrixPlan> plan;
    std::vector<std::size_t> uncompressed;
    std::vector<backend::Buffer<T>> errors;  // a member each; empty before the first error feedback
    FactorMemory<T> p;
    FactorMemory<T> q;
  };

  [[nodiscard]] const Bucket& bucket(std::size_t position) const { return context_.layout->buckets[position]; }
  [[nodiscard]] bool sends_p() const {
    return ((state_.iter - state_.options.start_powerSGD_iter) % 2 == 0) == rules_.begins_with_p;
  }
  void allocate_factor(BucketMemory& memory, FactorMemory<T>& factor, std::int64_t MatrixPlan::*extent);
  void draw_first_factors(std::uint32_t seed);
  void count(std::size_t position, bool p_step);
  void orthonormalize(FactorMemory<T>& kept, const std::vector<MatrixPlan>& plan, BucketOutcome& outcome,
                      FactorGrams TensorOutcome::*grams);
  [[nodiscard]] Tasks tasks(BucketMemory& memory, const BucketGradients<T>& gradients, bool p_step) const;
  void form_targets(const Tasks& tasks);
  void average(FactorMemory<T>& sent);
  void write_output_and_errors(BucketMemory& memory, const BucketGradients<T>& gradients, Tasks tasks);

  OneFactorRules rules_;
  HookOptions options_;
  HookContext<T> context_;
  PowerSGDState state_;
  std::vector<BucketMemory> buckets_;
};

template <class T>
OneFactor<T>::OneFactor(const OneFactorRules& rules, const HookOptions& options, const HookContext<T>& context)
    : Hook<T>(*context.layout),
      rules_(rules),
      options_(options),
      context_(context),
      state_(one_factor_options(options.power_sgd), nullptr) {
  // PyTorch's rule that error feedback begins after two iterations is DistributedDataParallel's, not the algorithm's.
  state_.options.start_powerSGD_iter = options.power_sgd.start_powerSGD_iter;
  buckets_.resize(context.layout->buckets.size());
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    BucketMemory& memory = buckets_[i];
    memory.sums = BucketSums<T>(context, i);
    memory.plan = plan_matrices(bucket(i), rules, state_.options, memory.uncompressed);
    allocate_factor(memory, memory.p, &MatrixPlan::rows);
    allocate_factor(memory, memory.q, &MatrixPlan::cols);
  }
  draw_first_factors(state_.options.random_seed);
}

template <class T>
void OneFactor<T>::allocate_factor(BucketMemory& memory, FactorMemory<T>& factor, std::int64_t MatrixPlan::*extent) {
  std::int64_t size = 0;
  std::int64_t grams = 0;
  for (const MatrixPlan& matrix : memory.plan) {
    factor.begin.push_back(size);
    size += matrix.*extent * matrix.rank;
    grams += matrix.rank * matrix.rank;
  }
  factor.begin.push_back(size);
  factor.data = context_.backend->template allocate<T>(static_cast<std::size_t>(size));
  for (std::size_t member = 0; context_.members > 1 && member < context_.members; ++member) {
    factor.own.push_back(context_.backend->template allocate<T>(static_cast<std::size_t>(size)));
  }
  for (std::size_t i = 0; i < memory.plan.size(); ++i) {
    factor.factors.push_back({factor.data.data() + factor.begin[i], memory.plan[i].*extent, memory.plan[i].rank});
  }
  factor.before =
      context_.backend->template allocate<double>(static_cast<std::size_t>(grams), backend::Placement::shared);
  factor.after =
      context_.backend->template allocate<double>(static_cast<std::size_t>(grams), backend::Placement::shared);
}

template <class T>
void OneFactor<T>::draw_first_factors(std::uint32_t seed) {
  TorchGenerator generator(seed);
  for (std::size_t position = 0; position < buckets_.size(); ++position) {
    const std::vector<MatrixPlan>& plan = buckets_[position].plan;
    const FactorMemory<T>& factor = rules_.begins_with_p ? buckets_[position].q : buckets_[position].p;
    const bool in_double =
        bucket(position).dtype == DType::float64 || (options_.draw_in_compute_dtype && dtype_of<T> == DType::float64);
    std::vector<T> host(factor.data.size());
    for (std::size_t first = 0; first < plan.size();) {
      std::size_t last = first;
      while (last < plan.size() && plan[last].rows == plan[first].rows && plan[last].cols == plan[first].cols) ++last;
      const auto begin = static_cast<std::size_t>(factor.begin[first]);
      const auto out = std::span<T>(host).subspan(begin, static_cast<std::size_t>(factor.begin[last]) - begin);
      in_double ? draw<double>(generator, out) : draw<float>(generator, out);
      first = last;
    }
    context_.backend->upload(host, factor.data.data());
  }
}

template <class T>
void OneFactor<T>::run(const BucketGradients<T>& gradients) {
  BucketMemory& memory = buckets_[gradients.position];
  BucketOutcome& outcome = this->outcomes_[gradients.position];
  const bool feeds_back = feeds_back_now();
  memory.sums.reset(outcome, feeds_back);
  if (state_.iter < state_.options.start_powerSGD_iter) {
    memory.sums.pass_through(gradients);
    state_.maybe_increase_iter(gradients.is_last);
    return;
  }
  if (feeds_back && memory.errors.empty()) allocate_memory(gradients.position, true, false);
  const bool p_step = sends_p();
  count(gradients.position, p_step);
  memory.sums.pass_through(gradients, memory.uncompressed);
  orthonormalize(p_step ? memory.q : memory.p, memory.plan, outcome, p_step ? &TensorOutcome::q : &TensorOutcome::p);
  Tasks all = tasks(memory, gradients, p_step);
  if (p_step) {
    context_.backend->project(all, 1.0);
  } else {
    form_targets(all);
    context_.backend->back_project(all, 1.0);
  }
  average(p_step ? memory.p : memory.q);
  write_output_and_errors(memory, gradients, std::move(all));
  state_.maybe_increase_iter(gradients.is_last);
}

template <class T>
void OneFactor<T>::count(std::size_t position, bool p_step) {
  BucketOutcome& outcome = this->outcomes_[position];
  const DType dtype = bucket(position).dtype;
  outcome.compressed = !buckets_[position].plan.empty();
  for (const MatrixPlan& matrix : buckets_[position].plan) {
    TensorOutcome& tensor = outcome.tensors[matrix.tensor];
    tensor.compressed = true;
    tensor.rank = matrix.rank;
    tensor.numel_after = (p_step ? matrix.rows : matrix.cols) * matrix.rank;
    tensor.bytes_sent = bytes_of(tensor.numel_after, dtype);
  }
  outcome.numel_after = 0;
  for (const TensorOutcome& tensor : outcome.tensors) outcome.numel_after += tensor.numel_after;
  outcome.bytes_sent = bytes_of(outcome.numel_after, dtype);
  state_.total_numel_before_compression += outcome.numel_before;
  state_.total_numel_after_compression += outcome.numel_after;
}

template <class T>
void OneFactor<T>::orthonormalize(FactorMemory<T>& kept, const std::vector<MatrixPlan>& plan, BucketOutcome& outcome,
                                  FactorGrams TensorOutcome::*grams) {
  backend::Backend<T>& backend = *context_.backend;
  backend.gram(kept.factors, kept.before.data());
  orthogonalize::orthogonalize(backend, std::span<const backend::Factor<T>>(kept.factors),
                               {&orthogonalize::method("householder"), 0, false});
  backend.gram(kept.factors, kept.after.data());
  std::int64_t begin = 0;
  for (const MatrixPlan& matrix : plan) {
    outcome.tensors[matrix.tensor].*grams = {matrix.rank, kept.before.data() + begin, kept.after.data() + begin};
    begin += matrix.rank * matrix.rank;
  }
}

template <class T>
typename OneFactor<T>::Tasks OneFactor<T>::tasks(BucketMemory& memory, const BucketGradients<T>& gradients,
                                                 bool p_step) const {
  Tasks result;
  result.reserve(memory.plan.size() * context_.members);
  for (std::size_t member = 0; member < context_.members; ++member) {
    for (std::size_t i = 0; i < memory.plan.size(); ++i) {
      const MatrixPlan& matrix = memory.plan[i];
      backend::MatrixTask<T> task;
      task.rows = matrix.rows;
      task.cols = matrix.cols;
      task.rank = matrix.rank;
      task.gradient = gradients.members[member] + matrix.begin;
      if (!memory.errors.empty()) {
        task.target = memory.errors[member].data() + matrix.begin;
        task.member_sums = memory.sums.member_sums() + matrix.tensor * context_.members + member;
      }
      const bool alone = memory.p.own.empty();
      task.p = (alone || !p_step ? memory.p.data : memory.p.own[member]).data() + memory.p.begin[i];
      task.q = (alone || p_step ? memory.q.data : memory.q.own[member]).data() + memory.q.begin[i];
      result.push_back(task);
    }
  }
  return result;
}

template <class T>
void OneFactor<T>::form_targets(const Tasks& tasks) {
  for (const backend::MatrixTask<T>& task : tasks) {
    if (task.target == nullptr) continue;
    const backend::Segment whole{0, task.rows * task.cols};
    context_.backend->add(task.gradient, task.target, whole.count);
    context_.backend->norms(task.target, {&whole, 1}, &task.member_sums->target_sq, 1);
  }
}

template <class T>
void OneFactor<T>::average(FactorMemory<T>& sent) {
  const auto size = static_cast<std::int64_t>(sent.data.size());
  if (sent.own.empty()) {
    T* const contribution = sent.data.data();
    context_.communicator->all_reduce_sum({&contribution, 1}, size);
    return;
  }
  context_.backend->copy(sent.own.front().data(), sent.data.data(), size);
  std::vector<T*> contributions{sent.data.data()};
  for (std::size_t member = 1; member < sent.own.size(); ++member) contributions.push_back(sent.own[member].data());
  context_.communicator->all_reduce_sum(contributions, size);
  context_.backend->divide(sent.data.data(), static_cast<double>(context_.communicator->world_size()), sent.data.data(),
                           size);
}

template <class T>
void OneFactor<T>::write_output_and_errors(BucketMemory& memory, const BucketGradients<T>& gradients, Tasks tasks) {
  const std::size_t matrices = memory.plan.size();
  const bool local = rules_.residual == Residual::local && !memory.p.own.empty() && !memory.errors.empty();
  // A local residual is taken from what the member itself sent, the output from the average, so they are two passes.
  if (local) context_.backend->residual(tasks);
  if (local || memory.errors.empty()) tasks.resize(matrices);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t matrix = i % matrices;
    tasks[i].p = memory.p.data.data() + memory.p.begin[matrix];
    tasks[i].q = memory.q.data.data() + memory.q.begin[matrix];
    if (local) {
      tasks[i].target = nullptr;
      tasks[i].member_sums = nullptr;
    }
    if (i >= matrices) continue;
    if (gradients.averaged != nullptr) tasks[i].output = gradients.averaged + memory.plan[matrix].begin;
    tasks[i].reference = gradients.mean + memory.plan[matrix].begin;
    tasks[i].tensor_sums = memory.sums.tensor_sums() + memory.plan[matrix].tensor;
  }
  context_.backend->residual(tasks);
}

template <class T>
void OneFactor<T>::allocate_memory(std::size_t position, bool error, bool /*factors*/) {
  for (std::size_t member = 0; error && member < context_.members; ++member) {
    buckets_[position].errors.push_back(
        context_.backend->template allocate<T>(static_cast<std::size_t>(bucket(position).capacity)));
  }
}

template <class T>
std::vector<MemoryView<T>> OneFactor<T>::memory() const {
  using Kind = typename MemoryView<T>::Kind;
  std::vector<MemoryView<T>> views;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const BucketMemory& memory = buckets_[i];
    for (std::size_t member = 0; member < memory.errors.size(); ++member) {
      views.push_back({Kind::error, bucket(i).index, member, memory.errors[member].data(), bucket(i).capacity});
    }
    views.push_back(
        {Kind::p, bucket(i).index, 0, memory.p.data.data(), static_cast<std::int64_t>(memory.p.data.size())});
    views.push_back(
        {Kind::q, bucket(i).index, 0, memory.q.data.data(), static_cast<std::int64_t>(memory.q.data.size())});
  }
  return views;
}

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> one_factor_power_sgd(const OneFactorRules& rules, const HookOptions& options,
                                              const HookContext<T>& context) {
  return std::make_unique<OneFactor<T>>(rules, options, context);
}

template std::unique_ptr<Hook<float>> one_factor_power_sgd(const OneFactorRules&, const HookOptions&,
                                                           const HookContext<float>&);
template std::unique_ptr<Hook<double>> one_factor_power_sgd(const OneFactorRules&, const HookOptions&,
                                                            const HookContext<double>&);

}  // namespace psgd::compress
