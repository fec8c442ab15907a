#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/base/interrupt.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/dump/pending_file.hpp"
#include "libpsgd/dump/writer.hpp"
#include "tools/common/console.hpp"
#include "tools/common/main.hpp"
#include "tools/common/results.hpp"
#include "tools/psgd-synth/synth_options.hpp"

namespace psgd::tools::synth {
namespace {

namespace fs = std::filesystem;

/// A file in the making, and the process ranks that go into it.
struct File {
  std::unique_ptr<dump::PendingFile> pending;
  std::unique_ptr<dump::Writer> writer;
  std::vector<std::int64_t> process_ranks;
};

fs::path rank_file(const fs::path& output, std::int64_t rank, std::int64_t world_size) {
  fs::path path = output;
  path.replace_extension(fmt::format(".rank{:05}-of-{:05}{}", rank, world_size, output.extension().string()));
  return path;
}

File make_file(const SynthOptions& options, const fs::path& path, std::vector<std::int64_t> process_ranks) {
  check_dump_output(path, "psgd-synth", {});
  dump::WriterOptions wanted;
  wanted.world_size = options.gradients.world_size;
  wanted.process_ranks = process_ranks;
  wanted.parameters = options.parameters;
  wanted.model = "synthetic";
  wanted.writer = "psgd-synth";
  wanted.shuffle = options.gzip;
  wanted.gzip = options.gzip ? 1 : 0;
  wanted.shown_as = path;
  wanted.durable = false;
  File file;
  file.pending = std::make_unique<dump::PendingFile>(path);
  file.writer = std::make_unique<dump::Writer>(file.pending->path(), wanted);
  file.process_ranks = std::move(process_ranks);
  return file;
}

std::vector<File> make_files(const SynthOptions& options) {
  const std::int64_t world_size = options.gradients.world_size;
  std::vector<File> files;
  std::vector<std::int64_t> all;
  for (std::int64_t rank = 0; rank < world_size; ++rank) {
    all.push_back(rank);
    if (options.per_rank) files.push_back(make_file(options, rank_file(options.output, rank, world_size), {rank}));
  }
  if (!options.per_rank) files.push_back(make_file(options, options.output, all));
  return files;
}

template <class T>
void append(const psgd::synth::Gradients<T>& gradients, std::size_t parameters, std::int64_t step, File& file) {
  std::vector<std::vector<const T*>> pointers;
  for (const std::int64_t rank : file.process_ranks) {
    std::vector<const T*>& tensors = pointers.emplace_back();
    for (std::size_t i = 0; i < parameters; ++i) {
      tensors.push_back(gradients.gradient(static_cast<std::size_t>(rank), i));
    }
  }
  file.writer->append_step<T>(step, pointers);
}

/// Whether every step was made.
template <class T>
bool make_steps(const SynthOptions& options, std::vector<File>& files, Console& console) {
  ThreadPool pool(options.common.threads);
  const auto backend = backend::cpu<T>(pool);
  psgd::synth::Gradients<T> gradients(options.gradients, *backend, pool);
  ProgressScope progress(console.progress(), static_cast<std::uint64_t>(options.steps), "steps");
  for (std::int64_t step = 0; step < options.steps; ++step) {
    if (stop_requested()) {
      if (step == 0) throw Error(ErrorKind::interrupted, "interrupted before the first step: nothing was written");
      return false;
    }
    gradients.next_step();
    for (File& file : files) append(gradients, options.parameters.size(), options.first_step + step, file);
    progress.advance();
  }
  return true;
}

int run(const std::vector<std::string>& arguments) {
  const auto options = parse_synth_options(arguments);
  if (!options) return exit_done;
  Console console("psgd-synth", options->common);
  std::vector<File> files = make_files(*options);
  const bool complete = dump::widest_dtype(options->parameters) == DType::float64
                            ? make_steps<double>(*options, files, console)
                            : make_steps<float>(*options, files, console);
  for (File& file : files) {
    file.writer->close(complete);
    file.writer.reset();
    file.pending->commit();
  }
  return complete ? exit_done : exit_interrupted;
}

}  // namespace
}  // namespace psgd::tools::synth

int main(int argc, char** argv) { return psgd::tools::run_main("psgd-synth", argc, argv, psgd::tools::synth::run); }
