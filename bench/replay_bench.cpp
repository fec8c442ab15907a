// Whole replays and sweeps of a dump, reading included, at one thread and at all.
//
// The dump is written below TMPDIR first: GPT-2-small's layer shapes, PSGD_BENCH_MIB (64 unless told) MiB of float32 a
// step and process rank, 8 process ranks, 5 steps, of which three are compressed. "items_per_second" counts gradient
// elements, all process ranks and steps; "step_ms" is what psgd-replay reports as seconds_per_step, without reading.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/layer_shapes.hpp"
#include "bench/run.hpp"
#include "libpsgd/dump/writer.hpp"
#include "libpsgd/replay/sweep.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::bench {
namespace {

namespace fs = std::filesystem;
using replay::Arithmetic;
using replay::ReplaySpec;

constexpr std::int64_t process_ranks = 8;
constexpr std::int64_t steps = 5;

std::vector<Parameter> parameters() {
  const char* chosen = std::getenv("PSGD_BENCH_MIB");
  std::int64_t left = (chosen != nullptr ? std::max(1, std::atoi(chosen)) : 64) * (std::int64_t{1} << 18);
  std::vector<Parameter> result;
  while (left > 0) {
    for (const MatrixShape& shape : gpt2_small().matrices) {
      result.push_back({fmt::format("layer{}.weight", result.size()), {shape.rows, shape.cols}, DType::float32});
      result.push_back({fmt::format("layer{}.bias", result.size()), {shape.rows}, DType::float32});
      left -= shape.rows * shape.cols;
      if (left <= 0) break;
    }
  }
  return result;
}

/// A dump that lives as long as the program.
class Sample {
 public:
  Sample() {
    dump::WriterOptions options;
    options.world_size = process_ranks;
    options.parameters = parameters();
    options.durable = false;
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 1e-3F);
    std::vector<float> values(std::size_t{4} << 20);
    for (float& value : values) value = normal(random);
    for (const Parameter& parameter : options.parameters) numel_ += numel(parameter.shape);
    dump::Writer writer(path(), options);
    for (std::int64_t step = 0; step < steps; ++step) {
      std::vector<std::vector<const float*>> gradients;
      for (std::int64_t rank = 0; rank < process_ranks; ++rank) {
        // Other parts of the same noise for every process rank and step.
        const float* const from = values.data() + (step * process_ranks + rank) * 1009;
        gradients.emplace_back(options.parameters.size(), from);
      }
      writer.append_step<float>(step, gradients);
    }
    writer.close();
  }

  [[nodiscard]] fs::path path() const { return directory_ / "dump.h5"; }
  [[nodiscard]] std::int64_t elements() const { return numel_; }

 private:
  test::TemporaryDirectory directory_;
  std::int64_t numel_ = 0;
};

const Sample& sample() {
  static const Sample made;
  return made;
}

ReplaySpec spec_of(std::int64_t rank, std::size_t threads) {
  ReplaySpec spec;
  spec.files = {sample().path()};
  spec.power_sgd.matrix_approximation_rank = rank;
  spec.threads = threads;
  return spec;
}

void run_one(benchmark::State& state, const ReplaySpec& spec) {
  double step_ms = 0;
  for (auto _ : state) step_ms = 1e3 * replay::run_replay(spec).summary.seconds_per_step;
  const auto ranks = spec.process_ranks ? static_cast<std::int64_t>(spec.process_ranks->size()) : process_ranks;
  state.SetItemsProcessed(state.iterations() * sample().elements() * ranks * steps);
  state.counters["step_ms"] = step_ms;
}

void run_six(benchmark::State& state, std::size_t threads) {
  std::vector<ReplaySpec> grid;
  for (const std::int64_t rank : {1, 2, 4, 8, 16, 32}) grid.push_back(spec_of(rank, threads));
  for (auto _ : state) benchmark::DoNotOptimize(replay::run_sweep(grid).configurations.size());
  state.SetItemsProcessed(state.iterations() * sample().elements() * process_ranks * steps);
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond)->UseRealTime();
}

void register_at(std::size_t threads) {
  const auto replay = [&](const std::string& what, const std::function<void(ReplaySpec&)>& change, std::int64_t rank) {
    add(fmt::format("replay/{}/r:{}/threads:{}", what, rank, threads), [=](benchmark::State& state) {
      ReplaySpec spec = spec_of(rank, threads);
      change(spec);
      run_one(state, spec);
    });
  };
  for (const std::int64_t rank : {1, 4, 8}) {
    replay(
        "fused", [](ReplaySpec&) {}, rank);
    replay(
        "one_process_rank", [](ReplaySpec& spec) { spec.process_ranks = {0}; }, rank);
  }
  replay(
      "per_rank", [](ReplaySpec& spec) { spec.arithmetic = Arithmetic::per_rank; }, 4);
  replay(
      "batched", [](ReplaySpec& spec) { spec.hook = "batched"; }, 4);
  replay(
      "none", [](ReplaySpec& spec) { spec.hook = "none"; }, 1);
  add(fmt::format("sweep/six_ranks/threads:{}", threads), [=](benchmark::State& state) { run_six(state, threads); });
}

}  // namespace
}  // namespace psgd::bench

int main(int argc, char** argv) {
  psgd::bench::register_at(1);
  if (const std::size_t all = std::thread::hardware_concurrency(); all > 1) psgd::bench::register_at(all);
  return psgd::bench::run(argc, argv);
}
