#include "libpsgd/dump/reader.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/dump/crew.hpp"
#include "libpsgd/dump/merge.hpp"
#include "libpsgd/dump/record_reader.hpp"
#include "libpsgd/dump/recorded_file.hpp"

namespace psgd::dump {
namespace {

// Raw and inflated chunks in flight: enough for every thread to have one of the usual size and the next one waiting.
constexpr std::uint64_t base_budget = std::uint64_t{16} << 20;
constexpr std::uint64_t budget_per_thread = std::uint64_t{4} << 20;

// An open dataset takes 16 KiB, and opening one as long as reading some tens of KiB.
constexpr std::size_t most_open_datasets = 1024;

// What HDF5 may keep of the structure of all files together, and at least of each.
constexpr std::size_t metadata_bytes = std::size_t{4} << 20;
constexpr std::size_t least_metadata_bytes = std::size_t{1} << 20;

std::vector<RecordedFile> open_all(const std::vector<std::filesystem::path>& paths, bool allow_plugins) {
  if (paths.empty()) throw Error::usage("no dump was given");
  hdf5::allow_plugins(allow_plugins);
  std::vector<RecordedFile> files;
  files.reserve(paths.size());
  const std::size_t share = std::max(least_metadata_bytes, metadata_bytes / paths.size());
  for (const std::filesystem::path& path : paths) files.push_back(open_recorded_file(path, allow_plugins, share));
  return files;
}

// Under a memory limit most of it is for the steps themselves.
std::uint64_t choose_budget(const std::vector<RecordedFile>& files, std::size_t threads, std::uint64_t memory_limit) {
  const std::uint64_t usual = base_budget + threads * budget_per_thread;
  if (memory_limit == 0) return usual;
  std::uint64_t least = 0;
  for (const RecordedFile& file : files) least = std::max(least, largest_work(file));
  if (least > memory_limit) {
    throw Error::unavailable("{}: reading it takes {} MiB for a single chunk, more than the memory limit of {} MiB",
                             files.front().path.string(), (least >> 20) + 1, memory_limit >> 20);
  }
  return std::max(least, std::min(usual, memory_limit / 8));
}

}  // namespace

struct Reader::Impl {
  ReaderOptions options;
  std::vector<RecordedFile> files;
  Merged merged;
  Crew crew;
  std::vector<RecordReader> records;  // a file's each
  std::uint64_t working_bytes;

  Impl(const std::vector<std::filesystem::path>& paths, const ReaderOptions& chosen, std::size_t threads)
      : options(chosen),
        files(open_all(paths, chosen.allow_plugins)),
        merged(merge(files)),
        crew(threads, choose_budget(files, threads, chosen.memory_limit)),
        working_bytes(crew.budget()) {
    records.reserve(files.size());
    for (const RecordedFile& file : files) {
      records.emplace_back(file, crew, most_open_datasets / files.size());
      working_bytes = std::max(working_bytes, largest_work(file));
    }
  }

  // HDF5 gives zeros for what lies behind the end of a file.
  void check_sizes() const {
    for (const RecordedFile& file : files) {
      if (file.file.size() < file.bytes) {
        throw Error::input("{}: was cut short while it was read: {} bytes where there were {}", file.path.string(),
                           file.file.size(), file.bytes);
      }
    }
  }

  // Index among description.process_ranks.
  [[nodiscard]] std::size_t index_of(std::int64_t process_rank) const {
    const std::vector<std::int64_t>& ranks = merged.description.process_ranks;
    const auto place = std::lower_bound(ranks.begin(), ranks.end(), process_rank);
    if (place == ranks.end() || *place != process_rank)
      throw Error::internal("process rank {} was not recorded", process_rank);
    return static_cast<std::size_t>(place - ranks.begin());
  }

  struct Cell {
    const Series* series;
    std::size_t row;
    std::size_t index;  // of [row, column] in a row-major table
  };

  [[nodiscard]] Cell cell(std::size_t step_index, std::int64_t process_rank) const {
    const Merged::Column column = merged.columns[index_of(process_rank)];
    const auto row = static_cast<std::size_t>(merged.rows[column.file].at(step_index));
    const RecordedFile& file = files[column.file];
    return {&file.series, row, row * file.process_ranks.size() + static_cast<std::size_t>(column.column)};
  }

  // The first element of each process rank's memory, by file.
  template <class T>
  [[nodiscard]] std::vector<std::vector<Target<T>>> targets(std::span<const std::int64_t> process_ranks,
                                                            std::span<T* const> out) const {
    std::vector<std::vector<Target<T>>> result(files.size());
    for (std::size_t i = 0; i < process_ranks.size(); ++i) {
      const Merged::Column column = merged.columns[index_of(process_ranks[i])];
      result[column.file].push_back({column.column, out[i]});
    }
    return result;
  }

  template <class T>
  void read_slot(std::size_t step_index, const TensorSlot& slot, const std::vector<std::vector<Target<T>>>& memory) {
    std::vector<Target<T>> tensors;
    for (std::size_t file = 0; file < files.size(); ++file) {
      tensors = memory[file];
      for (Target<T>& tensor : tensors) tensor.tensor += slot.begin;
      records[file].template read<T>(slot.parameter, merged.rows[file][step_index], tensors);
    }
  }
};

Reader::Reader(const std::vector<std::filesystem::path>& files, ReaderOptions options)
    : impl_(std::make_unique<Impl>(files, options, options.threads != 0 ? options.threads : available_processors())) {}

Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

const Description& Reader::description() const noexcept { return impl_->merged.description; }

const ReaderOptions& Reader::options() const noexcept { return impl_->options; }

std::uint64_t Reader::working_bytes() const noexcept { return impl_->working_bytes; }

template <class T>
void Reader::read_step(std::size_t step_index, std::span<const std::int64_t> process_ranks,
                       const GradientLayout& layout, std::span<T* const> out) {
  const Description& described = description();
  if (step_index >= described.steps.size() || process_ranks.size() != out.size()) {
    throw Error::internal("read_step: step index {} of {}, {} process ranks, {} buffers", step_index,
                          described.steps.size(), process_ranks.size(), out.size());
  }
  const auto memory = impl_->targets(process_ranks, out);
  try {
    for (const Bucket& bucket : layout.buckets) {
      for (const TensorSlot& slot : bucket.tensors) {
        if (slot.numel != numel(described.parameters.at(slot.parameter).shape)) {
          throw Error::internal("read_step: the layout was made for other parameters");
        }
        impl_->read_slot(step_index, slot, memory);
      }
    }
    impl_->crew.finish();
  } catch (...) {
    impl_->crew.abandon();
    impl_->check_sizes();  // may well be why, and says it better
    throw;
  }
  impl_->check_sizes();
}

template void Reader::read_step(std::size_t, std::span<const std::int64_t>, const GradientLayout&,
                                std::span<float* const>);
template void Reader::read_step(std::size_t, std::span<const std::int64_t>, const GradientLayout&,
                                std::span<double* const>);

float Reader::loss_scale(std::size_t step_index, std::int64_t process_rank) const {
  const Impl::Cell cell = impl_->cell(step_index, process_rank);
  return cell.series->loss_scale.empty() ? 1.0F : cell.series->loss_scale[cell.index];
}

std::optional<double> Reader::loss(std::size_t step_index, std::int64_t process_rank) const {
  const Impl::Cell cell = impl_->cell(step_index, process_rank);
  if (cell.series->loss.empty() || std::isnan(cell.series->loss[cell.index])) return std::nullopt;
  return cell.series->loss[cell.index];
}

std::int32_t Reader::accumulation(std::size_t step_index) const {
  const Impl::Cell cell = impl_->cell(step_index, description().process_ranks.front());
  return cell.series->accumulation.empty() ? 1 : cell.series->accumulation[cell.row];
}

bool Reader::present(std::size_t step_index, std::int64_t process_rank, std::size_t parameter) const {
  const Impl::Cell cell = impl_->cell(step_index, process_rank);
  if (cell.series->absent.empty()) return true;
  return !cell.series->absent.at(cell.index * description().parameters.size() + parameter);
}

}  // namespace psgd::dump
