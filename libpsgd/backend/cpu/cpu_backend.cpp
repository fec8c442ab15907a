#include "libpsgd/backend/cpu/cpu_backend.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "libpsgd/backend/cpu/element_passes.hpp"
#include "libpsgd/backend/cpu/gram_schmidt_passes.hpp"
#include "libpsgd/backend/cpu/householder_passes.hpp"
#include "libpsgd/backend/cpu/kernels/kernels.hpp"
#include "libpsgd/backend/cpu/matrix_passes.hpp"
#include "libpsgd/backend/cpu/tall_passes.hpp"
#include "libpsgd/base/error.hpp"

namespace psgd::backend {
namespace {

template <class T>
class Cpu final : public Backend<T> {
 public:
  Cpu(ThreadPool& pool, const kernels::Kernels<T>& kernels)
      : matrices_(pool, kernels),
        elements_(pool, kernels),
        gram_schmidt_(pool, kernels),
        householder_(pool, kernels),
        tall_(pool, kernels) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] const T* stage(std::span<const T> host, std::size_t /*slot*/) override { return host.data(); }
  void upload(std::span<const T> host, T* destination) override { copy(host.data(), destination, std::ssize(host)); }
  void download(const T* source, std::span<T> host) override { copy(source, host.data(), std::ssize(host)); }
  void synchronize() override {}
  // Fits a slice of the last-level cache of current server processors.
  [[nodiscard]] std::size_t working_set_bytes() const override { return std::size_t{16} << 20; }

  void reduce_ranks(const RankReduction<T>& reduction) override { elements_.reduce_ranks(reduction); }
  void project(std::span<const MatrixTask<T>> tasks, double scale) override { matrices_.project(tasks, scale); }
  void back_project(std::span<const MatrixTask<T>> tasks, double scale) override {
    matrices_.back_project(tasks, scale);
  }
  void residual(std::span<const MatrixTask<T>> tasks) override { matrices_.residual(tasks); }

  void gram_schmidt(std::span<const Factor<T>> factors, double epsilon, Rounding rounding) override {
    gram_schmidt_.modified(factors, epsilon, rounding);
  }
  void classical_gram_schmidt_twice(std::span<const Factor<T>> factors, double epsilon) override {
    gram_schmidt_.classical_twice(factors, epsilon);
  }
  void householder(std::span<const Factor<T>> factors) override { householder_.whole(factors, nullptr); }
  void householder_where_unsolved(std::span<const Factor<T>> factors, const double* uppers) override {
    householder_.whole(factors, uppers);
  }
  void householder_tree(std::span<const Factor<T>> factors) override { householder_.tree(factors); }
  void gram(std::span<const Factor<T>> factors, double* grams) override { tall_.gram(factors, grams); }
  void cholesky(std::span<const Factor<T>> factors, double* grams, double shift) override {
    tall_.cholesky(factors, grams, shift);
  }
  void solve_right(std::span<const Factor<T>> factors, const double* uppers, double* grams) override {
    tall_.solve_right(factors, uppers, grams);
  }

  void add(const T* source, T* destination, std::int64_t count) override { elements_.add(source, destination, count); }
  void divide(const T* source, double divisor, T* destination, std::int64_t count) override {
    elements_.divide(source, static_cast<T>(divisor), destination, count);
  }
  void subtract(const T* source, T* destination, std::int64_t count) override {
    elements_.subtract(source, destination, count);
  }
  void copy(const T* source, T* destination, std::int64_t count) override {
    elements_.copy(source, destination, count);
  }
  void compare(std::span<const Comparison<T>> comparisons) override { elements_.compare(comparisons); }
  void norms(const T* values, std::span<const Segment> segments, double* sums, std::size_t stride) override {
    elements_.norms(values, segments, sums, stride);
  }

 protected:
  [[nodiscard]] Buffer<std::byte> allocate_bytes(std::size_t bytes, Placement placement) override;

 private:
  MatrixPasses<T> matrices_;
  ElementPasses<T> elements_;
  GramSchmidtPasses<T> gram_schmidt_;
  HouseholderPasses<T> householder_;
  TallPasses<T> tall_;
};

/// Large memory lies on huge pages where the system grants them: the passes walk through it in step with many streams,
/// and on small pages lose up to a third of the bandwidth.
template <class T>
Buffer<std::byte> Cpu<T>::allocate_bytes(std::size_t bytes, Placement /*placement*/) {
  constexpr std::size_t line = 64;
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= 4 * huge_page ? huge_page : line;
  const std::size_t rounded = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw Error::unavailable("not enough memory for {} bytes", bytes);
#ifdef MADV_HUGEPAGE
  if (alignment == huge_page) madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: it may fail
#endif
  std::memset(memory, 0, rounded);
  return {static_cast<std::byte*>(memory), bytes, std::free};
}

}  // namespace

template <class T>
std::unique_ptr<Backend<T>> cpu(ThreadPool& pool, std::string_view simd_level) {
  const std::string level = simd_level.empty() ? kernels::simd_level_from_environment() : std::string(simd_level);
  return std::make_unique<Cpu<T>>(pool, kernels::kernels<T>(level));
}

template std::unique_ptr<Backend<float>> cpu(ThreadPool&, std::string_view);
template std::unique_ptr<Backend<double>> cpu(ThreadPool&, std::string_view);

std::vector<std::string> cpu_simd_levels() { return kernels::simd_levels(); }

}  // namespace psgd::backend
