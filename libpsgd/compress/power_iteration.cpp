#include "libpsgd/compress/power_iteration.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "libpsgd/base/torch_generator.hpp"

namespace psgd::compress {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

template <class Draw, class T>
void draw(TorchGenerator& generator, std::span<T> out) {
  if constexpr (std::is_same_v<Draw, T>) {
    generator.randn(out);
  } else {
    std::vector<Draw> numbers(out.size());
    generator.randn(std::span<Draw>(numbers));
    std::transform(numbers.begin(), numbers.end(), out.begin(), [](Draw number) { return static_cast<T>(number); });
  }
}

}  // namespace

template <class T>
PowerIteration<T>::PowerIteration(const HookContext<T>& context, std::vector<MatrixPlan> plan,
                                  std::vector<DrawGroup> draws)
    : context_(context), plan_(std::move(plan)), draws_(std::move(draws)) {
  std::int64_t p_size = 0;
  std::int64_t q_size = 0;
  std::int64_t gram_size = 0;
  for (const MatrixPlan& matrix : plan_) {
    p_begin_.push_back(p_size);
    q_begin_.push_back(q_size);
    gram_begin_.push_back(gram_size);
    p_size += matrix.rows * matrix.rank;
    q_size += matrix.cols * matrix.rank;
    gram_size += matrix.rank * matrix.rank;
  }
  p_begin_.push_back(p_size);
  q_begin_.push_back(q_size);
  form_groups();
  backend::Backend<T>& backend = *context_.backend;
  p_ = backend.template allocate<T>(as_size(p_size));
  q_ = backend.template allocate<T>(as_size(q_size));
  if (context_.members > 1) {
    for (std::size_t member = 0; member < context_.members; ++member) {
      own_p_.push_back(backend.template allocate<T>(as_size(p_size)));
      own_q_.push_back(backend.template allocate<T>(as_size(q_size)));
    }
  }
  for (auto* grams : {&p_before_, &p_after_, &q_before_, &q_after_}) {
    *grams = backend.template allocate<double>(as_size(gram_size), backend::Placement::shared);
  }
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    p_factors_.push_back({p_.data() + p_begin_[i], plan_[i].rows, plan_[i].rank});
    q_factors_.push_back({q_.data() + q_begin_[i], plan_[i].cols, plan_[i].rank});
  }
}

template <class T>
void PowerIteration<T>::draw_q(std::uint32_t seed, DType draw_dtype) {
  TorchGenerator generator(seed);
  std::vector<T> host(q_.size());
  for (const DrawGroup& group : draws_) {
    if (group.count == 0) continue;
    const std::int64_t begin = q_begin_[group.first];
    const std::int64_t end = q_begin_[group.first + group.count];
    const auto out = std::span<T>(host).subspan(as_size(begin), as_size(end - begin));
    if (draw_dtype == DType::float64) {
      draw<double>(generator, out);
    } else {
      draw<float>(generator, out);
    }
  }
  context_.backend->upload(host, q_.data());
}

template <class T>
void PowerIteration<T>::form_groups() {
  const std::size_t limit = context_.communicator->divisible() ? context_.backend->working_set_bytes()
                                                               : std::numeric_limits<std::size_t>::max();
  std::size_t size = 0;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    // The gradient and the error memory of every member.
    const std::size_t bytes = 2 * sizeof(T) * as_size(plan_[i].rows * plan_[i].cols) * context_.members;
    if (groups_.empty() || size + bytes > limit) {
      groups_.push_back({i, 0});
      size = 0;
    }
    ++groups_.back().count;
    size += bytes;
  }
}

template <class T>
typename PowerIteration<T>::Tasks PowerIteration<T>::tasks(const Group& group, const IterationStep<T>& step) const {
  Tasks result;
  result.reserve(group.count * context_.members);
  for (std::size_t member = 0; member < context_.members; ++member) {
    for (std::size_t i = group.first; i < group.first + group.count; ++i) {
      const MatrixPlan& matrix = plan_[i];
      backend::MatrixTask<T> task;
      task.rows = matrix.rows;
      task.cols = matrix.cols;
      task.rank = matrix.rank;
      task.gradient = step.gradients[member] + matrix.begin;
      if (!step.errors.empty()) task.target = step.errors[member] + matrix.begin;
      task.p = (own_p_.empty() ? p_.data() : own_p_[member].data()) + p_begin_[i];
      task.q = q_.data() + q_begin_[i];
      if (step.member_sums != nullptr) task.member_sums = step.member_sums + matrix.tensor * context_.members + member;
      result.push_back(task);
    }
  }
  return result;
}

template <class T>
void PowerIteration<T>::run(const IterationStep<T>& step, const orthogonalize::Rule& rule) {
  for (const Group& group : groups_) run_group(group, step, rule);
  context_.communicator->record(static_cast<std::int64_t>(p_.size()));
  context_.communicator->record(static_cast<std::int64_t>(q_.size()));
}

template <class T>
void PowerIteration<T>::run_group(const Group& group, const IterationStep<T>& step, const orthogonalize::Rule& rule) {
  backend::Backend<T>& backend = *context_.backend;
  const auto world_size = static_cast<double>(context_.communicator->world_size());
  const std::int64_t grams = gram_begin_[group.first];
  const std::int64_t p_begin = p_begin_[group.first];
  const std::int64_t q_begin = q_begin_[group.first];
  const std::int64_t p_count = p_begin_[group.first + group.count] - p_begin;
  const std::int64_t q_count = q_begin_[group.first + group.count] - q_begin;
  Tasks all = tasks(group, step);

  orthonormalize(std::span(q_factors_).subspan(group.first, group.count), rule, q_before_.data() + grams,
                 q_after_.data() + grams);
  backend.project(all, context_.member_weight);
  sum_over_members(own_p_, p_.data(), p_begin, p_count);

  orthonormalize(std::span(p_factors_).subspan(group.first, group.count), rule, p_before_.data() + grams,
                 p_after_.data() + grams);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t matrix = group.first + i % group.count;
    all[i].p = p_.data() + p_begin_[matrix];
    if (!own_q_.empty()) all[i].q = own_q_[i / group.count].data() + q_begin_[matrix];
  }
  const bool single = own_q_.empty();
  // One member that stands for all W needs no division afterwards, and W·(1/W) would round.
  backend.back_project(all, single ? context_.member_weight / world_size : 1.0);
  sum_over_members(own_q_, q_.data(), q_begin, q_count);
  if (!single) backend.divide(q_.data() + q_begin, world_size, q_.data() + q_begin, q_count);

  write_output_and_errors(group, step, std::move(all));
}

template <class T>
void PowerIteration<T>::orthonormalize(std::span<const backend::Factor<T>> factors, const orthogonalize::Rule& rule,
                                       double* before, double* after) {
  context_.backend->gram(factors, before);
  orthogonalize::orthogonalize(*context_.backend, factors, rule);
  context_.backend->gram(factors, after);
}

template <class T>
void PowerIteration<T>::sum_over_members(const std::vector<backend::Buffer<T>>& own, T* shared, std::int64_t begin,
                                         std::int64_t count) {
  std::vector<T*> contributions{shared + begin};
  if (!own.empty()) {
    context_.backend->copy(own.front().data() + begin, shared + begin, count);
    for (std::size_t member = 1; member < own.size(); ++member) contributions.push_back(own[member].data() + begin);
  }
  context_.communicator->all_reduce_piece(contributions, count);
}

template <class T>
void PowerIteration<T>::write_output_and_errors(const Group& group, const IterationStep<T>& step, Tasks tasks) {
  const bool local = step.residual == Residual::local && !own_q_.empty() && !step.errors.empty();
  // A local residual is taken from the member's own Q, the output from the shared one, so they are two passes.
  if (local) context_.backend->residual(tasks);
  if (local || step.errors.empty()) tasks.resize(group.count);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t matrix = group.first + i % group.count;
    tasks[i].q = q_.data() + q_begin_[matrix];
    if (local) {
      tasks[i].target = nullptr;
      tasks[i].member_sums = nullptr;
    }
    if (i >= group.count) continue;
    if (step.output != nullptr) tasks[i].output = step.output + plan_[matrix].begin;
    if (step.reference != nullptr && step.tensor_sums != nullptr) {
      tasks[i].reference = step.reference + plan_[matrix].begin;
      tasks[i].tensor_sums = step.tensor_sums + plan_[matrix].tensor;
    }
  }
  context_.backend->residual(tasks);
}

template <class T>
FactorGrams PowerIteration<T>::grams(std::size_t matrix, const backend::Buffer<double>& before,
                                     const backend::Buffer<double>& after) const {
  return {plan_[matrix].rank, before.data() + gram_begin_[matrix], after.data() + gram_begin_[matrix]};
}

template class PowerIteration<float>;
template class PowerIteration<double>;

}  // namespace psgd::compress
