#include "libpsgd/replay/replay.hpp"

#include <chrono>
#include <memory>
#include <optional>

#include "libpsgd/backend/registry.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/dump/averaged_writer.hpp"
#include "libpsgd/dump/pending_file.hpp"
#include "libpsgd/dump/step_stream.hpp"
#include "libpsgd/replay/configuration.hpp"
#include "libpsgd/replay/memory_plan.hpp"
#include "libpsgd/replay/resolve.hpp"
#include "libpsgd/replay/state_file.hpp"
#include "libpsgd/replay/summary.hpp"

namespace psgd::replay {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

compress::HookOptions hook_options(const ReplaySpec& spec) {
  compress::HookOptions options;
  options.power_sgd = spec.power_sgd;
  if (spec.orthogonalization != "auto") options.orthogonalization = &orthogonalize::method(spec.orthogonalization);
  options.residual = spec.residual;
  options.draw_in_compute_dtype = spec.draw_in_compute_dtype;
  return options;
}

/// One configuration and all it needs, in one computing type.
template <class T>
class Replay {
 public:
  Replay(const ResolvedSpec& resolved, const std::optional<StateHeader>& state, const compress::HookEntry& hook, dump::Reader& reader,
         const Selection& selection, const ReplayEnvironment& environment);

  /// Goes through the steps; returns how many were done.
  void run(ReplayResult& result, std::size_t steps_in_memory);

 private:
  [[nodiscard]] Stage<T> stage(const ReplayEnvironment& environment);
  void run_step(const dump::StepData<T>& data, std::int64_t step);
  void finish_residual_norms();
  void write_step(std::int64_t step);
  void collect(ReplayResult& result);

  const ResolvedSpec& resolved_;
  const compress::HookEntry& hook_;
  dump::Reader& reader_;
  const Selection& selection_;
  const ReplayEnvironment& environment_;
  ThreadPool pool_;
  std::unique_ptr<backend::Backend<T>> backend_;
  Configuration<T> configuration_;
  RankMean<T> ranks_;
  std::optional<dump::AveragedWriter<T>> output_;
  std::optional<dump::PendingFile> state_out_;
};

template <class T>
Replay<T>::Replay(const ResolvedSpec& resolved, const std::optional<StateHeader>& state, const compress::HookEntry& hook, dump::Reader& reader,
                  const Selection& selection, const ReplayEnvironment& environment)
    : resolved_(resolved),
      hook_(hook),
      reader_(reader),
      selection_(selection),
      environment_(environment),
      pool_(resolved.spec.threads),
      backend_(backend::make_backend<T>(resolved.spec.backend, pool_)),
      configuration_(stage(environment), hook, hook_options(resolved.spec), resolved.spec.output.has_value()),
      ranks_(*backend_, selection.layout, selection.process_ranks.size()) {
  if (state) restore_state(*resolved.spec.state_in, *state, selection.layout, configuration_, ranks_);
  if (resolved.spec.output) output_.emplace(*resolved.spec.output, reader.description().parameters, selection.layout);
  if (resolved.spec.state_out) state_out_.emplace(*resolved.spec.state_out);
  configuration_.hazards().look_at_configuration(hook);
  configuration_.hazards().look_at_loss_scale(reader);
}

template <class T>
Stage<T> Replay<T>::stage(const ReplayEnvironment& environment) {
  return {backend_.get(), &selection_, &reader_.description(), resolved_.arithmetic, resolved_.spec.transport, environment.log};
}

template <class T>
void Replay<T>::run(ReplayResult& result, std::size_t steps_in_memory) {
  dump::StepStream<T> stream(reader_, selection_.step_indices, selection_.process_ranks, selection_.layout, steps_in_memory);
  ProgressScope progress(environment_.progress != nullptr ? *environment_.progress : no_progress(), selection_.step_indices.size(), "steps");
  while (true) {
    if (environment_.stop_requested && environment_.stop_requested()) {
      result.complete = false;
      break;
    }
    const dump::StepData<T>* const data = stream.next();
    if (data == nullptr) break;
    const std::int64_t step = reader_.description().steps[data->step_index];
    run_step(*data, step);
    write_step(step);
    result.steps.push_back(step);
    progress.advance();
  }
  finish_residual_norms();
  if (output_) output_->finish(result.complete);
  if (state_out_) save_state(*state_out_, resolved_, selection_, configuration_, ranks_);
  result.summary.seconds_read = stream.seconds_reading();
  collect(result);
}

template <class T>
void Replay<T>::run_step(const dump::StepData<T>& data, std::int64_t step) {
  const Clock::time_point start = Clock::now();
  const auto extent = static_cast<std::size_t>(selection_.layout.extent);
  std::vector<const T*> gradients;
  for (std::size_t rank = 0; rank < data.gradients.size(); ++rank) {
    gradients.push_back(backend_->stage(std::span<const T>(data.gradients[rank], extent), rank));
  }
  const bool accumulate = resolved_.arithmetic == Arithmetic::fused && configuration_.hook().feeds_back_now();
  if (accumulate) ranks_.keep_deviations();

  std::vector<const T*> bucket_gradients(gradients.size());
  for (std::size_t position = 0; position < selection_.layout.buckets.size(); ++position) {
    const std::int64_t begin = selection_.layout.buckets[position].begin;
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) bucket_gradients[rank] = gradients[rank] + begin;
    const T* const error = configuration_.hook().error_memory(position, 0);
    const std::span<const T* const> errors(&error, error != nullptr ? 1 : 0);
    const T* const mean = ranks_.reduce(position, bucket_gradients, errors, accumulate);
    configuration_.run_bucket(position, bucket_gradients, mean);
  }
  backend_->synchronize();
  configuration_.complete_residual_norms(ranks_, 0);
  configuration_.record_step(step, ranks_, data.gradients, seconds_since(start));
}

template <class T>
void Replay<T>::finish_residual_norms() {
  if (!ranks_.keeps_deviations()) return;
  for (std::size_t position = 0; position < selection_.layout.buckets.size(); ++position) {
    const T* const error = configuration_.hook().error_memory(position, 0);
    if (error != nullptr) ranks_.measure(position, {&error, 1});
  }
  backend_->synchronize();
  configuration_.complete_residual_norms(ranks_, 0);
}

template <class T>
void Replay<T>::write_step(std::int64_t step) {
  if (output_) output_->append(step, configuration_.output());
}

template <class T>
void Replay<T>::collect(ReplayResult& result) {
  const std::vector<double>& seconds = configuration_.seconds_of_compressed_steps();
  const auto iter = static_cast<std::int64_t>(result.steps.size());
  const compress::PowerSGDState* const state = configuration_.hook().state();
  configuration_.hazards().look_at_end(hook_, static_cast<std::int64_t>(seconds.size()), state != nullptr ? state->iter : iter);
  result.records = std::move(configuration_.records());
  result.bucket_records = std::move(configuration_.bucket_records());
  result.summary.compression_stats = configuration_.hook().compression_stats();
  result.summary.seconds_per_step = median(seconds);
  result.summary.hazards = configuration_.hazards().entries();
  summarize_errors(result);
}

void describe(ReplayResult& result, const dump::Description& dump, const Selection& selection) {
  result.dump = dump;
  result.process_ranks = selection.process_ranks;
  result.numel = selection.layout.numel;
  for (const std::size_t index : selection.parameters) {
    const Parameter& parameter = dump.parameters[index];
    const MatrixExtents extents = parameter.shape.empty() ? MatrixExtents{1, 1} : matrix_extents(parameter.shape);
    result.parameters.push_back({parameter.name, parameter.bucket, extents.rows, extents.cols, numel(parameter.shape)});
  }
}

template <class T>
void run_in(ReplayResult& result, const std::optional<StateHeader>& state, const compress::HookEntry& hook, dump::Reader& reader,
            const Selection& selection, const ReplayEnvironment& environment, std::size_t steps_in_memory) {
  Replay<T> replay(result.resolved, state, hook, reader, selection, environment);
  replay.run(result, steps_in_memory);
}

}  // namespace

ReplayResult run_replay(const ReplaySpec& spec, const ReplayEnvironment& environment) {
  const Clock::time_point start = Clock::now();
  check_spec(spec);
  const compress::HookEntry& hook = compress::hook(spec.hook);
  dump::ReaderOptions reader_options;
  reader_options.memory_limit = spec.memory_limit;
  reader_options.threads = spec.threads;
  dump::Reader reader(spec.files, reader_options);
  std::optional<StateHeader> state;
  if (spec.state_in) state = read_state_header(*spec.state_in);

  ReplayResult result;
  result.resolved = resolve(spec, reader.description(), state);
  const Selection selection = select(reader.description(), result.resolved.spec, hook);
  if (state) check_world_size(spec, *state, selection);
  const MemoryPlan plan = plan_memory(result.resolved, hook, selection);
  result.state_bytes = plan.state_bytes;
  describe(result, reader.description(), selection);
  if (result.resolved.dtype == DType::float64) {
    run_in<double>(result, state, hook, reader, selection, environment, plan.steps_in_memory);
  } else {
    run_in<float>(result, state, hook, reader, selection, environment, plan.steps_in_memory);
  }
  result.summary.seconds_total = seconds_since(start);
  return result;
}

}  // namespace psgd::replay
