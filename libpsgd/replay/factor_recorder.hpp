#pragma once

#include <functional>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/replay/ortho_inputs.hpp"
#include "libpsgd/replay/spec.hpp"

namespace psgd::replay {

/// A backend that does what another one does and keeps copies of the factors that a hook has orthonormalized, as they
/// were before.
///
/// P or Q shows in the order of the passes: a hook orthonormalizes P after it projects, and Q at any other time.
template <class T>
class FactorRecorder final : public backend::Backend<T> {
 public:
  explicit FactorRecorder(backend::Backend<T>& backend) : backend_(backend) {}

  /// Forgets what it has and keeps what comes from now on.
  void start() {
    recording_ = true;
    batches_.clear();
  }

  /// The factors, those of one shape and kind (replay-p, replay-q) together, in the order of their first.
  [[nodiscard]] const std::vector<FactorBatch>& batches() const noexcept { return batches_; }

  [[nodiscard]] std::string_view name() const override { return backend_.name(); }
  [[nodiscard]] const T* stage(std::span<const T> host, std::size_t slot) override {
    return backend_.stage(host, slot);
  }
  void upload(std::span<const T> host, T* destination) override { backend_.upload(host, destination); }
  void download(const T* source, std::span<T> host) override { backend_.download(source, host); }
  void synchronize() override { backend_.synchronize(); }
  [[nodiscard]] std::size_t working_set_bytes() const override { return backend_.working_set_bytes(); }
  void reduce_ranks(const backend::RankReduction<T>& reduction) override { backend_.reduce_ranks(reduction); }
  void project(std::span<const backend::MatrixTask<T>> tasks, double scale) override {
    projected_ = true;
    backend_.project(tasks, scale);
  }
  void back_project(std::span<const backend::MatrixTask<T>> tasks, double scale) override {
    projected_ = false;
    backend_.back_project(tasks, scale);
  }
  void residual(std::span<const backend::MatrixTask<T>> tasks) override { backend_.residual(tasks); }

  void gram_schmidt(std::span<const backend::Factor<T>> factors, double epsilon, backend::Rounding rounding) override {
    record(factors);
    backend_.gram_schmidt(factors, epsilon, rounding);
  }
  void classical_gram_schmidt_twice(std::span<const backend::Factor<T>> factors, double epsilon) override {
    record(factors);
    backend_.classical_gram_schmidt_twice(factors, epsilon);
  }
  void householder(std::span<const backend::Factor<T>> factors) override {
    record(factors);
    backend_.householder(factors);
  }
  void householder_where_unsolved(std::span<const backend::Factor<T>> factors, const double* uppers) override {
    backend_.householder_where_unsolved(factors, uppers);
  }
  void householder_tree(std::span<const backend::Factor<T>> factors) override {
    record(factors);
    backend_.householder_tree(factors);
  }
  void gram(std::span<const backend::Factor<T>> factors, double* grams) override { backend_.gram(factors, grams); }
  void cholesky(std::span<const backend::Factor<T>> factors, double* grams, double shift) override {
    backend_.cholesky(factors, grams, shift);
  }
  void solve_right(std::span<const backend::Factor<T>> factors, const double* uppers, double* grams) override {
    backend_.solve_right(factors, uppers, grams);
  }

  void add(const T* source, T* destination, std::int64_t count) override { backend_.add(source, destination, count); }
  void divide(const T* source, double divisor, T* destination, std::int64_t count) override {
    backend_.divide(source, divisor, destination, count);
  }
  void subtract(const T* source, T* destination, std::int64_t count) override {
    backend_.subtract(source, destination, count);
  }
  void copy(const T* source, T* destination, std::int64_t count) override { backend_.copy(source, destination, count); }
  void compare(std::span<const backend::Comparison<T>> comparisons) override { backend_.compare(comparisons); }
  void norms(const T* values, std::span<const backend::Segment> segments, double* sums, std::size_t stride) override {
    backend_.norms(values, segments, sums, stride);
  }

 protected:
  [[nodiscard]] backend::Buffer<std::byte> allocate_bytes(std::size_t bytes, backend::Placement placement) override {
    return backend_.template allocate<std::byte>(bytes, placement);
  }

 private:
  void record(std::span<const backend::Factor<T>> factors);

  backend::Backend<T>& backend_;
  bool recording_ = false;
  bool projected_ = false;
  std::vector<FactorBatch> batches_;
};

/// What a replay at one rank leaves for a study.
struct RecordedFactors {
  bool complete = true;              ///< false: stopped before the last step
  DType dtype = DType::float32;      ///< that the replay computed in
  std::vector<FactorBatch> batches;  ///< of the last step; empty where no tensor is compressed
  double step_seconds = 0;           ///< median of a compressed step
};

/// Replays `spec` and keeps the factors of its last step as they were before orthogonalization. Throws as run_replay.
RecordedFactors record_factors(const ReplaySpec& spec, const std::function<bool()>& stop_requested);

}  // namespace psgd::replay
