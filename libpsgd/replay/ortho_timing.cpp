#include "libpsgd/replay/ortho_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace psgd::replay {
namespace {

using Clock = std::chrono::steady_clock;

/// What a timing should last at least, so that the clock and the call do not show in it.
constexpr double least_seconds = 2e-4;
constexpr std::size_t most_copies = 64;
constexpr std::size_t most_bytes_of_copies = std::size_t{64} << 20;

/// The value below which a share of the sorted values lies, between neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

/// Copies of a batch on the backend's device.
template <class T>
class Copies {
 public:
  Copies(const FactorBatch& batch, backend::Backend<T>& backend)
      : backend_(backend),
        size_(batch.values.size()),
        count_(count_of(size_)),
        host_(batch.values.begin(), batch.values.end()),
        memory_(backend.template allocate<T>(size_ * count_)),
        original_(backend.template allocate<T>(size_)) {
    backend.upload(host_, original_.data());
    const std::size_t one = static_cast<std::size_t>(batch.shape.rows * batch.shape.cols);
    for (std::size_t copy = 0; copy < count_; ++copy) {
      factors_.emplace_back();
      for (std::size_t at = 0; at < size_; at += one) {
        factors_.back().push_back({memory_.data() + copy * size_ + at, batch.shape.rows, batch.shape.cols});
      }
    }
  }

  [[nodiscard]] std::size_t most() const { return count_; }

  /// Seconds that the method takes for one of `count` fresh copies.
  double run(const orthogonalize::Method& method, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      backend_.copy(original_.data(), memory_.data() + i * size_, static_cast<std::int64_t>(size_));
    }
    backend_.synchronize();
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      orthogonalize::orthogonalize<T>(backend_, factors_[i], {&method, 0, false});
    }
    backend_.synchronize();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(count);
  }

  /// What the latest run left of its first copy.
  std::vector<double> result() {
    backend_.download(memory_.data(), host_);
    backend_.synchronize();
    return {host_.begin(), host_.end()};
  }

 private:
  static std::size_t count_of(std::size_t size) {
    const std::size_t fitting = most_bytes_of_copies / std::max<std::size_t>(size * sizeof(T), 1);
    return std::clamp<std::size_t>(fitting, 1, most_copies);
  }

  backend::Backend<T>& backend_;
  std::size_t size_ = 0;
  std::size_t count_ = 1;
  std::vector<T> host_;
  backend::Buffer<T> memory_;
  backend::Buffer<T> original_;
  std::vector<std::vector<backend::Factor<T>>> factors_;
};

}  // namespace

template <class T>
std::vector<MethodRun> time_methods(const FactorBatch& batch, std::span<const orthogonalize::Method* const> methods,
                                    std::size_t repetitions, backend::Backend<T>& backend) {
  Copies<T> copies(batch, backend);
  std::vector<MethodRun> runs(methods.size());
  std::vector<std::size_t> counts(methods.size());
  for (std::size_t m = 0; m < methods.size(); ++m) {
    copies.run(*methods[m], 1);  // allocates what the method keeps
    runs[m].q = copies.result();
    const double seconds = copies.run(*methods[m], 1);
    counts[m] = std::clamp<std::size_t>(static_cast<std::size_t>(least_seconds / seconds), 1, copies.most());
  }
  std::vector<std::vector<double>> seconds(methods.size());
  for (std::size_t i = 0; i < repetitions; ++i) {
    for (std::size_t m = 0; m < methods.size(); ++m) seconds[m].push_back(copies.run(*methods[m], counts[m]));
  }
  for (std::size_t m = 0; m < methods.size(); ++m) {
    std::sort(seconds[m].begin(), seconds[m].end());
    runs[m].seconds = quantile(seconds[m], 0.5);
    runs[m].spread = quantile(seconds[m], 0.75) - quantile(seconds[m], 0.25);
  }
  return runs;
}

template std::vector<MethodRun> time_methods(const FactorBatch&, std::span<const orthogonalize::Method* const>,
                                             std::size_t, backend::Backend<float>&);
template std::vector<MethodRun> time_methods(const FactorBatch&, std::span<const orthogonalize::Method* const>,
                                             std::size_t, backend::Backend<double>&);

}  // namespace psgd::replay
