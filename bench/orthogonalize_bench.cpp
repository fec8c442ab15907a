// Every orthogonalization method on tall factors, at one thread and at all: a single large one, the factors of a
// model's layers, and growing ranks.
//
// Each repetition gets the same fresh numbers; copying them is not counted. "bytes_per_second" counts one read and one
// write of the factors, however many passes a method makes.

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/run.hpp"
#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/orthogonalize/method.hpp"

namespace psgd::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Batch {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t count = 1;
};

/// Factors of normal numbers, one behind the other.
class Factors {
 public:
  Factors(backend::Backend<float>& backend, const Batch& batch)
      : size_(static_cast<std::size_t>(batch.rows * batch.cols * batch.count)),
        source_(size_),
        data_(backend.allocate<float>(size_)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : source_) value = normal(random);
    for (std::int64_t i = 0; i < batch.count; ++i) {
      all_.push_back({data_.data() + i * batch.rows * batch.cols, batch.rows, batch.cols});
    }
  }

  std::span<const backend::Factor<float>> fresh() {
    std::copy(source_.begin(), source_.end(), data_.data());
    return all_;
  }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(size_ * sizeof(float)); }

 private:
  std::size_t size_;
  std::vector<float> source_;
  backend::Buffer<float> data_;
  std::vector<backend::Factor<float>> all_;
};

void run(benchmark::State& state, const orthogonalize::Method& method, const Batch& batch, std::size_t threads) {
  ThreadPool pool(threads);
  const auto backend = backend::cpu<float>(pool);
  Factors factors(*backend, batch);
  for (auto _ : state) {
    const auto fresh = factors.fresh();
    const Clock::time_point start = Clock::now();
    method.run_float(*backend, fresh, 0.0);
    backend->synchronize();
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
  }
  state.SetBytesProcessed(state.iterations() * 2 * factors.bytes());
}

void register_all() {
  std::vector<Batch> batches{{65536, 8, 1}, {768, 4, 48}, {3072, 16, 4}};
  for (const std::int64_t rank : {1, 2, 4, 8, 16, 32}) batches.push_back({2304, rank, 4});
  const std::size_t all = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::size_t> thread_counts{1};
  if (all > 1) thread_counts.push_back(all);
  for (const std::size_t threads : thread_counts) {
    for (const Batch& batch : batches) {
      for (const orthogonalize::Method& method : orthogonalize::methods()) {
        const std::string name =
            fmt::format("{}/{}x{}x{}/threads:{}", method.name, batch.rows, batch.cols, batch.count, threads);
        benchmark::RegisterBenchmark(
            name.c_str(), [&method, batch, threads](benchmark::State& state) { run(state, method, batch, threads); })
            ->Unit(benchmark::kMicrosecond)
            ->UseManualTime();
      }
    }
  }
}

}  // namespace
}  // namespace psgd::bench

int main(int argc, char** argv) {
  psgd::bench::register_all();
  return psgd::bench::run(argc, argv);
}
