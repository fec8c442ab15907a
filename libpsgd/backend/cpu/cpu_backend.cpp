#include "libpsgd/backend/cpu/cpu_backend.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "libpsgd/backend/cpu/factorize.hpp"
#include "libpsgd/backend/cpu/passes.hpp"
#include "libpsgd/base/error.hpp"

namespace psgd::backend {
namespace {

template <class T>
double square(T value) {
  return static_cast<double>(value) * static_cast<double>(value);
}

template <class T>
class Cpu final : public Backend<T> {
 public:
  explicit Cpu(ThreadPool& pool) : pool_(pool) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] const T* stage(std::span<const T> host, std::size_t /*slot*/) override { return host.data(); }
  void upload(std::span<const T> host, T* destination) override { std::copy(host.begin(), host.end(), destination); }
  void download(const T* source, std::span<T> host) override { std::copy_n(source, host.size(), host.data()); }
  void synchronize() override {}
  // Fits a slice of the last-level cache of current server processors.
  [[nodiscard]] std::size_t working_set_bytes() const override { return std::size_t{16} << 20; }

  void reduce_ranks(const RankReduction<T>& reduction) override;

  void project(std::span<const MatrixTask<T>> tasks, double scale) override {
    pool_.for_each(tasks.size(), [&](std::size_t i, std::size_t) { passes::project(tasks[i], scale); });
  }
  void back_project(std::span<const MatrixTask<T>> tasks, double scale) override {
    pool_.for_each(tasks.size(), [&](std::size_t i, std::size_t) { passes::back_project(tasks[i], scale); });
  }
  void residual(std::span<const MatrixTask<T>> tasks) override {
    pool_.for_each(tasks.size(), [&](std::size_t i, std::size_t) { passes::residual(tasks[i]); });
  }
  void gram_schmidt(std::span<const Factor<T>> factors, double epsilon) override {
    pool_.for_each(factors.size(), [&](std::size_t i, std::size_t) { factorize::gram_schmidt(factors[i], epsilon); });
  }
  void householder(std::span<const Factor<T>> factors) override {
    pool_.for_each(factors.size(), [&](std::size_t i, std::size_t) { factorize::householder(factors[i]); });
  }
  void gram(std::span<const Factor<T>> factors, double* grams) override {
    for (const Factor<T>& factor : factors) {
      factorize::gram(factor, grams);
      grams += factor.cols * factor.cols;
    }
  }
  void add(const T* source, T* destination, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) destination[i] += source[i];
  }
  void divide(const T* source, double divisor, T* destination, std::int64_t count) override {
    const T by = static_cast<T>(divisor);
    for (std::int64_t i = 0; i < count; ++i) destination[i] = source[i] / by;
  }
  void subtract(const T* source, T* destination, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) destination[i] -= source[i];
  }
  void copy(const T* source, T* destination, std::int64_t count) override { std::copy_n(source, count, destination); }
  void compare(std::span<const Comparison<T>> comparisons) override {
    for (const Comparison<T>& comparison : comparisons) compare_one(comparison);
  }
  void norms(const T* values, std::span<const Segment> segments, double* sums, std::size_t stride) override {
    for (const Segment& segment : segments) {
      double sum = 0;
      for (std::int64_t i = 0; i < segment.count; ++i) sum += square(values[segment.begin + i]);
      *sums = sum;
      sums += stride;
    }
  }

 protected:
  [[nodiscard]] Buffer<std::byte> allocate_bytes(std::size_t bytes, Placement /*placement*/) override {
    constexpr std::size_t line = 64;
    const std::size_t rounded = std::max(line, (bytes + line - 1) / line * line);
    void* memory = std::aligned_alloc(line, rounded);
    if (memory == nullptr) throw Error::unavailable("not enough memory for {} bytes", bytes);
    std::memset(memory, 0, rounded);
    return {static_cast<std::byte*>(memory), bytes, std::free};
  }

 private:
  static void compare_one(const Comparison<T>& comparison) {
    TensorSums sums;
    for (std::int64_t i = 0; i < comparison.count; ++i) {
      const auto output = static_cast<double>(comparison.output[i]);
      const auto reference = static_cast<double>(comparison.reference[i]);
      sums.gradient_sq += reference * reference;
      sums.averaged_sq += output * output;
      sums.difference_sq += (output - reference) * (output - reference);
      sums.dot += output * reference;
    }
    *comparison.sums = sums;
  }

  ThreadPool& pool_;
};

template <class T>
void Cpu<T>::reduce_ranks(const RankReduction<T>& reduction) {
  const std::size_t ranks = std::max(reduction.gradients.size(), reduction.deviations.size());
  const std::size_t errors = reduction.errors.size();
  for (std::size_t s = 0; s < reduction.segments.size(); ++s) {
    const Segment& segment = reduction.segments[s];
    for (std::size_t w = 0; w < ranks; ++w) {
      RankSums sums;
      for (std::int64_t i = segment.begin; i < segment.begin + segment.count; ++i) {
        if (!reduction.gradients.empty()) sums.gradient_sq += square(reduction.gradients[w][i]);
        if (!reduction.deviations.empty()) sums.deviation_sq += square(reduction.deviations[w][i]);
      }
      if (reduction.rank_sums != nullptr) reduction.rank_sums[s * ranks + w] = sums;
      for (std::size_t k = 0; k < errors; ++k) {
        double dot = 0;
        for (std::int64_t i = segment.begin; i < segment.begin + segment.count; ++i) {
          dot += static_cast<double>(reduction.errors[k][i]) * static_cast<double>(reduction.deviations[w][i]);
        }
        reduction.error_dots[(s * ranks + w) * errors + k] = dot;
      }
    }
    if (reduction.gradients.empty()) continue;
    for (std::int64_t i = segment.begin; i < segment.begin + segment.count; ++i) {
      T sum{0};
      for (const T* gradient : reduction.gradients) sum += gradient[i];
      const T mean = sum / static_cast<T>(ranks);
      reduction.mean[i] = mean;
      for (std::size_t w = 0; w < reduction.deviations.size(); ++w) reduction.deviations[w][i] += reduction.gradients[w][i] - mean;
    }
  }
}

}  // namespace

template <class T>
std::unique_ptr<Backend<T>> cpu(ThreadPool& pool) {
  return std::make_unique<Cpu<T>>(pool);
}

template std::unique_ptr<Backend<float>> cpu(ThreadPool&);
template std::unique_ptr<Backend<double>> cpu(ThreadPool&);

}  // namespace psgd::backend
