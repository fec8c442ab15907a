#include "libpsgd/replay/ortho_study.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/ranges.h>

#include "libpsgd/backend/registry.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/orthogonalize/method.hpp"
#include "libpsgd/replay/factor_recorder.hpp"
#include "libpsgd/replay/ortho_inputs.hpp"
#include "libpsgd/replay/ortho_judge.hpp"
#include "libpsgd/replay/ortho_timing.hpp"

namespace psgd::replay {
namespace {

/// A batch to be made when its turn comes, or one that a replay left.
struct Job {
  FactorShape shape;
  DType dtype = DType::float32;
  const OrthoInput* input = nullptr;
  const FactorBatch* recorded = nullptr;
  std::int64_t rank = 0;  ///< of the replay that recorded it
};

bool is_replayed(std::string_view input) { return input == replay_p || input == replay_q; }

bool wanted(const OrthoSpec& spec, std::string_view input) {
  return spec.inputs.empty() || std::find(spec.inputs.begin(), spec.inputs.end(), input) != spec.inputs.end();
}

void check(const OrthoSpec& spec) {
  if (spec.shapes.empty() && !spec.dump) throw Error::usage("neither shapes nor a dump to take them from");
  for (const FactorShape& shape : spec.shapes) {
    if (shape.rows < 1 || shape.cols < 1 || shape.batch < 1) {
      throw Error::usage("shape {} x {}, batch {}: nothing to orthonormalize", shape.rows, shape.cols, shape.batch);
    }
    if (shape.rows < shape.cols) {
      throw Error::usage("shape {} x {}: a factor needs at least as many rows as columns", shape.rows, shape.cols);
    }
  }
  for (const std::string& name : spec.methods) orthogonalize::method(name);
  for (const std::string& name : spec.inputs) {
    if (!is_replayed(name)) {
      ortho_input(name);
    } else if (!spec.dump) {
      throw Error::usage("input {} needs a dump to replay", name);
    }
  }
  if (spec.dump && spec.ranks.empty()) throw Error::usage("no rank to replay the dump at");
  if (spec.repetitions < 1) throw Error::usage("at least one repetition is needed");
}

std::vector<const orthogonalize::Method*> methods_of(const OrthoSpec& spec) {
  std::vector<const orthogonalize::Method*> methods;
  if (spec.methods.empty()) {
    for (const orthogonalize::Method& method : orthogonalize::methods()) methods.push_back(&method);
  }
  for (const std::string& name : spec.methods) methods.push_back(&orthogonalize::method(name));
  return methods;
}

/// Replays the dump at every rank; what was recorded lies in `replays` afterwards.
void replay_ranks(const OrthoSpec& spec, const ReplayEnvironment& environment, std::vector<RecordedFactors>& replays,
                  OrthoResult& result) {
  for (const std::int64_t rank : spec.ranks) {
    ReplaySpec replay = *spec.dump;
    replay.power_sgd.matrix_approximation_rank = rank;
    replays.push_back(record_factors(replay, environment.stop_requested));
    const RecordedFactors& recorded = replays.back();
    if (!recorded.complete) {
      result.complete = false;
      return;
    }
    if (recorded.batches.empty()) {
      result.ranks_without_factors.push_back(rank);
      continue;
    }
    result.rank_costs.push_back({rank, recorded.step_seconds});
  }
  if (result.rank_costs.empty()) {
    throw Error::input(
        "{}: no tensor is compressed in the last step at rank {}; replay more steps or give a lower "
        "rank or --min-compression-rate",
        spec.dump->files.front().string(), fmt::join(spec.ranks, ", "));
  }
}

/// Appends the shape, or, where P and Q agree on it, only the larger batch.
void add_shape(std::vector<FactorShape>& shapes, const FactorShape& shape) {
  for (FactorShape& known : shapes) {
    if (known.rows != shape.rows || known.cols != shape.cols) continue;
    known.batch = std::max(known.batch, shape.batch);
    return;
  }
  shapes.push_back(shape);
}

std::vector<Job> plan(const OrthoSpec& spec, const std::vector<RecordedFactors>& replays) {
  std::vector<FactorShape> shapes;
  for (const FactorShape& shape : spec.shapes) add_shape(shapes, shape);
  for (const RecordedFactors& replay : replays) {
    for (const FactorBatch& batch : replay.batches) add_shape(shapes, batch.shape);
  }
  std::vector<DType> dtypes = spec.dtypes;
  if (dtypes.empty()) dtypes.push_back(replays.empty() ? DType::float32 : replays.front().dtype);
  std::vector<Job> jobs;
  for (const DType dtype : dtypes) {
    for (const FactorShape& shape : shapes) {
      for (const OrthoInput& input : ortho_inputs()) {
        if (wanted(spec, input.name) && shape.cols >= input.least_cols) jobs.push_back({shape, dtype, &input});
      }
    }
    for (std::size_t i = 0; i < replays.size(); ++i) {
      for (const FactorBatch& batch : replays[i].batches) {
        if (wanted(spec, batch.input)) jobs.push_back({batch.shape, dtype, nullptr, &batch, spec.ranks[i]});
      }
    }
  }
  if (jobs.empty()) throw Error::usage("none of the inputs exists for these shapes: they have one column");
  return jobs;
}

/// What jobs are run with.
struct Bench {
  std::vector<const orthogonalize::Method*> methods;
  std::size_t repetitions = 1;
  std::uint32_t seed = 0;
  std::unique_ptr<backend::Backend<float>> single;
  std::unique_ptr<backend::Backend<double>> twofold;
};

FactorBatch batch_of(const Job& job, std::uint32_t seed) {
  if (job.recorded == nullptr) return make_batch(*job.input, job.shape, job.dtype, seed);
  FactorBatch batch = *job.recorded;
  if (job.dtype == DType::float32) {
    for (double& value : batch.values) value = static_cast<float>(value);
  }
  return batch;
}

OrthoRecord record_of(const Job& job, const FactorBatch& batch, const MethodRun& run, const OrthoQuality& quality) {
  OrthoRecord record;
  record.shape = job.shape;
  record.dtype = job.dtype;
  record.input = batch.input;
  record.rank = job.rank;
  record.seconds = run.seconds;
  record.seconds_spread = run.spread;
  const auto rows = static_cast<double>(job.shape.rows);
  const auto cols = static_cast<double>(job.shape.cols);
  const auto count = static_cast<double>(job.shape.batch);
  record.bytes_per_second = 2 * rows * cols * count * static_cast<double>(size_of(job.dtype)) / run.seconds;
  record.flops_per_second = (4 * rows * cols * cols - 4 * cols * cols * cols / 3) * count / run.seconds;
  record.orthogonality = quality.orthogonality;
  record.residual = quality.residual;
  record.subspace_sine = quality.subspace_sine;
  return record;
}

void run_job(const Job& job, const Bench& bench, OrthoResult& result) {
  const FactorBatch batch = batch_of(job, bench.seed);
  const std::vector<MethodRun> runs = job.dtype == DType::float64
                                          ? time_methods(batch, bench.methods, bench.repetitions, *bench.twofold)
                                          : time_methods(batch, bench.methods, bench.repetitions, *bench.single);
  const bool full_rank = job.input == nullptr || job.input->full_rank;
  const OrthoJudge judge(batch, full_rank, *bench.twofold);
  for (std::size_t m = 0; m < runs.size(); ++m) {
    OrthoRecord record = record_of(job, batch, runs[m], judge.judge(runs[m].q));
    record.method = bench.methods[m]->name;
    result.records.push_back(std::move(record));
  }
}

}  // namespace

OrthoResult run_ortho(const OrthoSpec& spec, const ReplayEnvironment& environment) {
  check(spec);
  ThreadPool pool(spec.threads);
  const Bench bench{methods_of(spec), spec.repetitions, spec.seed, backend::make_backend<float>(spec.backend, pool),
                    backend::make_backend<double>(spec.backend, pool)};
  OrthoResult result;
  std::vector<RecordedFactors> replays;
  if (spec.dump) replay_ranks(spec, environment, replays, result);
  if (!result.complete) return result;
  const std::vector<Job> jobs = plan(spec, replays);
  Progress& progress = environment.progress != nullptr ? *environment.progress : no_progress();
  const ProgressScope scope(progress, jobs.size(), "batches");
  for (const Job& job : jobs) {
    if (environment.stop_requested && environment.stop_requested()) {
      result.complete = false;
      break;
    }
    run_job(job, bench, result);
    progress.advance(1);
  }
  return result;
}

}  // namespace psgd::replay
