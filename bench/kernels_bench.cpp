// The three passes of a compression step over whole models, at ranks from 1 to 32, beside a plain read of the same
// bytes and beside the same step put together from BLAS calls.
//
//   bench_kernels --benchmark_filter='gpt2/.*/threads:2' --benchmark_enable_random_interleaving=true
//                 --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// "bytes_per_second" counts what a pass has to read and write at least. Ratios between lines of one run are meant, not
// the lines themselves.

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/layer_shapes.hpp"
#include "bench/run.hpp"
#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/thread_pool.hpp"

namespace psgd::bench {
namespace {

constexpr std::array<std::int64_t, 6> ranks{1, 2, 4, 8, 16, 32};

/// A model's gradients, error memory and factors, filled with noise.
class Workload {
 public:
  Workload(const Model& model, std::int64_t rank, std::size_t threads)
      : pool(threads), backend(backend::cpu<float>(pool)), numel_(model.numel()) {
    const auto size = static_cast<std::size_t>(numel_);
    gradient = backend->allocate<float>(size);
    target = backend->allocate<float>(size);
    std::size_t factor_elements = 0;
    for (const MatrixShape& shape : model.matrices) {
      factor_elements += static_cast<std::size_t>((shape.rows + shape.cols) * rank);
    }
    factors = backend->allocate<float>(factor_elements);
    sums = backend->allocate<backend::MemberSums>(model.matrices.size(), backend::Placement::shared);
    tensor_sums = backend->allocate<backend::TensorSums>(model.matrices.size(), backend::Placement::shared);
    fill(gradient.data(), size, 1.0F);
    fill(factors.data(), factor_elements, 0.01F);
    place(model, rank);
  }

  /// Without growth: what is added in every repetition must stay small.
  void clear_target() const { std::fill_n(target.data(), static_cast<std::size_t>(numel_), 0.0F); }

  [[nodiscard]] std::int64_t bytes(int passes) const { return passes * numel_ * std::int64_t{sizeof(float)}; }

  ThreadPool pool;
  std::unique_ptr<backend::Backend<float>> backend;
  backend::Buffer<float> gradient;
  backend::Buffer<float> target;
  backend::Buffer<float> factors;
  backend::Buffer<backend::MemberSums> sums;
  backend::Buffer<backend::TensorSums> tensor_sums;
  std::vector<backend::MatrixTask<float>> tasks;

 private:
  static void fill(float* values, std::size_t count, float scale) {
    std::minstd_rand random(7);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = scale * (static_cast<float>(random() % 65536) / 32768.0F - 1.0F);
    }
  }

  void place(const Model& model, std::int64_t rank) {
    std::int64_t at = 0;
    float* factor = factors.data();
    for (std::size_t i = 0; i < model.matrices.size(); ++i) {
      const MatrixShape& shape = model.matrices[i];
      backend::MatrixTask<float> task;
      task.rows = shape.rows;
      task.cols = shape.cols;
      task.rank = rank;
      task.gradient = gradient.data() + at;
      task.target = target.data() + at;
      task.p = factor;
      task.q = factor + shape.rows * rank;
      task.reference = task.gradient;
      task.member_sums = sums.data() + i;
      task.tensor_sums = tensor_sums.data() + i;
      tasks.push_back(task);
      at += shape.rows * shape.cols;
      factor += (shape.rows + shape.cols) * rank;
    }
  }

  std::int64_t numel_;
};

/// A sum over all of the model's elements, as fast as memory gives them.
void plain_read(benchmark::State& state, Workload& work) {
  const std::array<backend::Segment, 1> all{backend::Segment{0, work.bytes(1) / std::int64_t{sizeof(float)}}};
  double sum = 0;
  for (auto _ : state) work.backend->norms(work.gradient.data(), all, &sum, 1);
  benchmark::DoNotOptimize(sum);
  state.SetBytesProcessed(state.iterations() * work.bytes(1));
}

/// target ← target + gradient: what project moves, without its products.
void plain_add(benchmark::State& state, Workload& work) {
  work.clear_target();
  for (auto _ : state) {
    work.backend->add(work.gradient.data(), work.target.data(), work.bytes(1) / std::int64_t{sizeof(float)});
  }
  state.SetBytesProcessed(state.iterations() * work.bytes(3));
}

void project(benchmark::State& state, Workload& work) {
  work.clear_target();
  for (auto _ : state) work.backend->project(work.tasks, 1.0);
  state.SetBytesProcessed(state.iterations() * work.bytes(3));
}

/// P = M·Q alone: M is the gradient, nothing is written but P.
void project_only(benchmark::State& state, Workload& work) {
  std::vector<backend::MatrixTask<float>> tasks = work.tasks;
  for (auto& task : tasks) {
    task.target = nullptr;
    task.member_sums = nullptr;
  }
  for (auto _ : state) work.backend->project(tasks, 1.0);
  state.SetBytesProcessed(state.iterations() * work.bytes(1));
}

void back_project(benchmark::State& state, Workload& work) {
  for (auto _ : state) work.backend->back_project(work.tasks, 1.0);
  state.SetBytesProcessed(state.iterations() * work.bytes(1));
}

void residual(benchmark::State& state, Workload& work) {
  for (auto _ : state) work.backend->residual(work.tasks);
  state.SetBytesProcessed(state.iterations() * work.bytes(3));
}

/// A compression step of one member: the three passes and the orthogonalization, group by group so that later passes
/// find the matrices in a cache. Counted: the gradient and the error memory are read, the error memory is written.
void step(benchmark::State& state, Workload& work) {
  work.clear_target();
  const auto group_bytes = static_cast<std::int64_t>(work.backend->working_set_bytes());
  std::vector<backend::Factor<float>> factors;
  for (const auto& task : work.tasks) factors.push_back({task.p, task.rows, task.rank});
  for (auto _ : state) {
    for (std::size_t begin = 0; begin < work.tasks.size();) {
      std::int64_t bytes = 0;
      std::size_t end = begin;
      for (; end < work.tasks.size() && (end == begin || bytes < group_bytes); ++end) {
        bytes += 2 * work.tasks[end].rows * work.tasks[end].cols * std::int64_t{sizeof(float)};
      }
      const auto group = std::span<const backend::MatrixTask<float>>(work.tasks).subspan(begin, end - begin);
      work.backend->project(group, 1.0);
      work.backend->gram_schmidt(std::span<const backend::Factor<float>>(factors).subspan(begin, end - begin), 0.0,
                                 backend::Rounding::none);
      work.backend->back_project(group, 1.0);
      work.backend->residual(group);
      begin = end;
    }
  }
  state.SetBytesProcessed(state.iterations() * work.bytes(3));
}

void blas_project(benchmark::State& state, Workload& work) {
  work.clear_target();
  for (auto _ : state) {
    for (const auto& task : work.tasks) {
      cblas_saxpy(static_cast<blasint>(task.rows * task.cols), 1.0F, task.gradient, 1, task.target, 1);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<blasint>(task.rows),
                  static_cast<blasint>(task.rank), static_cast<blasint>(task.cols), 1.0F, task.target,
                  static_cast<blasint>(task.cols), task.q, static_cast<blasint>(task.rank), 0.0F, task.p,
                  static_cast<blasint>(task.rank));
    }
  }
  state.SetBytesProcessed(state.iterations() * work.bytes(3));
}

void blas_back_project(benchmark::State& state, Workload& work) {
  for (auto _ : state) {
    for (const auto& task : work.tasks) {
      cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<blasint>(task.cols),
                  static_cast<blasint>(task.rank), static_cast<blasint>(task.rows), 1.0F, task.target,
                  static_cast<blasint>(task.cols), task.p, static_cast<blasint>(task.rank), 0.0F, task.q,
                  static_cast<blasint>(task.rank));
    }
  }
  state.SetBytesProcessed(state.iterations() * work.bytes(1));
}

/// E ← M − P·Qᵀ and its norm; without the comparison with the mean gradient, which BLAS has nothing for.
void blas_residual(benchmark::State& state, Workload& work) {
  for (auto _ : state) {
    for (const auto& task : work.tasks) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(task.rows),
                  static_cast<blasint>(task.cols), static_cast<blasint>(task.rank), -1e-3F, task.p,
                  static_cast<blasint>(task.rank), task.q, static_cast<blasint>(task.rank), 1.0F, task.target,
                  static_cast<blasint>(task.cols));
      benchmark::DoNotOptimize(cblas_snrm2(static_cast<blasint>(task.rows * task.cols), task.target, 1));
    }
  }
  state.SetBytesProcessed(state.iterations() * work.bytes(2));
}

/// Products of noise with noise would grow from repetition to repetition; the factors are made anew for each benchmark.
using Body = void (*)(benchmark::State&, Workload&);

void add(const Model& model, const char* what, Body body, std::int64_t rank, std::size_t threads) {
  const std::string name = fmt::format("{}/{}/r:{}/threads:{}", model.name, what, rank, threads);
  benchmark::RegisterBenchmark(name.c_str(),
                               [model, body, rank, threads](benchmark::State& state) {
                                 Workload work(model, rank, threads);
                                 body(state, work);
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void register_all() {
  const std::size_t all = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::size_t> thread_counts{1};
  if (all > 1) thread_counts.push_back(all);
  for (const Model& model : {gpt2_small(), resnet50(), lstm()}) {
    for (const std::size_t threads : thread_counts) {
      add(model, "read", plain_read, 1, threads);
      add(model, "read_write", plain_add, 1, threads);
      for (const std::int64_t rank : ranks) {
        add(model, "project", project, rank, threads);
        add(model, "project_only", project_only, rank, threads);
        add(model, "back_project", back_project, rank, threads);
        add(model, "residual", residual, rank, threads);
        add(model, "step", step, rank, threads);
      }
    }
    // BLAS starts threads of its own, as many as OPENBLAS_NUM_THREADS says, and gains nothing from more than one.
    for (const std::int64_t rank : ranks) {
      add(model, "blas_project", blas_project, rank, 1);
      add(model, "blas_back_project", blas_back_project, rank, 1);
      add(model, "blas_residual", blas_residual, rank, 1);
    }
  }
}

}  // namespace
}  // namespace psgd::bench

int main(int argc, char** argv) {
  psgd::bench::register_all();
  return psgd::bench::run(argc, argv);
}
