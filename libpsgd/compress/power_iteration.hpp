#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// One matrix of a bucket.
struct MatrixPlan {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t rank = 0;
  std::int64_t begin = 0;  ///< elements from the start of the bucket
  std::size_t tensor = 0;  ///< in Bucket::tensors
};

/// Neighbours in the plan whose factor Q is drawn by one call of randn.
struct DrawGroup {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The inputs and outputs of one step of subspace iteration. Pointers are to whole buckets.
template <class T>
struct IterationStep {
  std::span<const T* const> gradients;  ///< a member each
  std::span<T* const> errors;           ///< a member each, or empty without error feedback
  const T* reference = nullptr;         ///< mean gradient to compare the output with, or null
  T* output = nullptr;                  ///< or null
  Residual residual = Residual::averaged;
  backend::TensorSums* tensor_sums = nullptr;  ///< a matrix each, indexed by MatrixPlan::tensor; null without reference
  backend::MemberSums* member_sums = nullptr;  ///< [tensor][member]; null without error feedback
};

/// One step of subspace iteration on all compressed matrices of a bucket, for all members: orthogonalize Q; P = Σ
/// M_w·Q; orthogonalize P; Q = Σ M_wᵀ·P / W; output P·Qᵀ. This is what the layerwise, batched and original hooks share.
///
/// Where the communicator allows it, matrices go through the passes in groups that fit a cache, so that memory sees two
/// reads and one write instead of five and two; results do not depend on the grouping.
///
/// P and Q lie one matrix after the other, row-major, in the plan's order: the layout of PyTorch's p_memory_dict and
/// q_memory_dict. Source: Vogels, Karimireddy, Jaggi, PowerSGD, NeurIPS 2019, algorithm 1.
template <class T>
class PowerIteration {
 public:
  PowerIteration(const HookContext<T>& context, std::vector<MatrixPlan> plan, std::vector<DrawGroup> draws);

  /// Q ← torch.randn after torch.manual_seed(seed), one call for each draw group, in `draw_dtype` (half precision draws
  /// in float32).
  void draw_q(std::uint32_t seed, DType draw_dtype);

  void run(const IterationStep<T>& step, const orthogonalize::Rule& rule);

  [[nodiscard]] std::span<const MatrixPlan> plan() const noexcept { return plan_; }
  [[nodiscard]] std::span<T> p() const noexcept { return p_.span(); }
  [[nodiscard]] std::span<T> q() const noexcept { return q_.span(); }

  /// Diagnostics of the latest run for plan()[matrix], valid after Backend::synchronize.
  [[nodiscard]] FactorGrams p_grams(std::size_t matrix) const { return grams(matrix, p_before_, p_after_); }
  [[nodiscard]] FactorGrams q_grams(std::size_t matrix) const { return grams(matrix, q_before_, q_after_); }

 private:
  using Tasks = std::vector<backend::MatrixTask<T>>;

  /// Neighbours in the plan that go through the passes together.
  struct Group {
    std::size_t first = 0;
    std::size_t count = 0;
  };

  void form_groups();
  void run_group(const Group& group, const IterationStep<T>& step, const orthogonalize::Rule& rule);
  [[nodiscard]] Tasks tasks(const Group& group, const IterationStep<T>& step) const;
  void orthonormalize(std::span<const backend::Factor<T>> factors, const orthogonalize::Rule& rule, double* before,
                      double* after);
  void sum_over_members(const std::vector<backend::Buffer<T>>& own, T* shared, std::int64_t begin, std::int64_t count);
  void write_output_and_errors(const Group& group, const IterationStep<T>& step, Tasks tasks);
  [[nodiscard]] FactorGrams grams(std::size_t matrix, const backend::Buffer<double>& before,
                                  const backend::Buffer<double>& after) const;

  HookContext<T> context_;
  std::vector<MatrixPlan> plan_;
  std::vector<DrawGroup> draws_;
  std::vector<Group> groups_;
  std::vector<std::int64_t> p_begin_;     // by matrix, and the end
  std::vector<std::int64_t> q_begin_;     // by matrix, and the end
  std::vector<std::int64_t> gram_begin_;  // by matrix
  backend::Buffer<T> p_;
  backend::Buffer<T> q_;
  // With several members each has a P and Q of its own, before the sum.
  std::vector<backend::Buffer<T>> own_p_;
  std::vector<backend::Buffer<T>> own_q_;
  std::vector<backend::Factor<T>> p_factors_;
  std::vector<backend::Factor<T>> q_factors_;
  backend::Buffer<double> p_before_;
  backend::Buffer<double> p_after_;
  backend::Buffer<double> q_before_;
  backend::Buffer<double> q_after_;
};

}  // namespace psgd::compress
