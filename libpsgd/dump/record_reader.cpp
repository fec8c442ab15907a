#include "libpsgd/dump/record_reader.hpp"

#include <algorithm>
#include <optional>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/block.hpp"

namespace psgd::dump {
namespace {

using hdf5::call;
using hdf5::Dataset;

// Pieces that are converted: large enough for the library's overhead to vanish, small enough to stay in a core's cache.
constexpr std::int64_t piece_bytes = std::int64_t{256} << 10;

template <class T>
constexpr StoredType native_of = {dtype_of<T>, false};

Shape with_record(std::int64_t row, std::int64_t column, const Shape& rest) {
  Shape extents;
  extents.reserve(rest.size() + 2);
  extents.push_back(row);
  extents.push_back(column);
  for (const std::int64_t extent : rest) extents.push_back(extent);
  return extents;
}

Shape without_record(const Shape& extents) { return {extents.begin() + 2, extents.end()}; }

Shape end_of(const Block& block, const Shape& shape) {
  Shape end(shape.size());
  for (std::size_t axis = 0; axis < end.size(); ++axis) {
    end[axis] = std::min(shape[axis], block.origin[axis] + block.extents[axis]);
  }
  return end;
}

// Extents of the largest leading-axes cut of a tensor whose bytes do not exceed a piece; at least one row of its last
// axis, or a part of that.
Shape piece_extents(const GradientDataset& dataset) {
  Shape piece(dataset.shape);
  std::int64_t bytes = dataset.numel * static_cast<std::int64_t>(dataset.storage.element_size);
  for (std::int64_t& extent : piece) {
    if (bytes <= piece_bytes) break;
    const std::int64_t each = bytes / extent;
    extent = std::clamp<std::int64_t>(piece_bytes / std::max<std::int64_t>(1, each), 1, extent);
    bytes = extent * each;
  }
  return piece;
}

// Where HDF5 itself undoes filters, each chunk has to be asked for once and whole.
Shape block_extents(const GradientDataset& dataset) {
  return dataset.is_filtered() ? without_record(dataset.storage.chunk) : piece_extents(dataset);
}

// Where the values of a chunk may go without a copy: it holds one record's values as they are wanted, and they lie in
// one piece in the tensor. Null where that is not so.
template <class T>
std::byte* direct_place(const GradientDataset& dataset, const Shape& origin, std::span<const Target<T>> targets) {
  const Shape& chunk = dataset.storage.chunk;
  if (chunk[0] != 1 || chunk[1] != 1 || dataset.stored != native_of<T> || !dataset.order.is_logical()) return nullptr;
  const Block block{without_record(origin), without_record(chunk)};
  const std::optional<std::int64_t> begin = contiguous_begin(block, dataset.shape);
  return begin ? reinterpret_cast<std::byte*>(targets.front().tensor + *begin) : nullptr;
}

// Each target's share of a chunk, which may hold several steps and process ranks.
template <class T>
void scatter_chunk(const GradientDataset& dataset, const Shape& origin, std::int64_t row, const std::byte* values,
                   std::span<const Target<T>> targets) {
  const Shape& chunk = dataset.storage.chunk;
  const Block block{without_record(origin), without_record(chunk)};
  const auto record_bytes = static_cast<std::size_t>(numel(block.extents)) * dataset.storage.element_size;
  for (const Target<T>& target : targets) {
    const std::int64_t record = (row - origin[0]) * chunk[1] + target.column - origin[1];
    scatter(block, values + static_cast<std::size_t>(record) * record_bytes, dataset.stored, dataset.shape,
            dataset.order, target.tensor);
  }
}

}  // namespace

std::uint64_t largest_work(const RecordedFile& file) {
  std::uint64_t largest = 0;
  for (const GradientDataset& dataset : file.datasets) {
    if (dataset.route == GradientDataset::Route::chunks) {
      largest = std::max<std::uint64_t>(largest, 3 * dataset.storage.chunk_bytes);
    } else {
      const std::int64_t elements = numel(block_extents(dataset));
      largest = std::max(largest, static_cast<std::uint64_t>(elements) * dataset.storage.element_size);
    }
  }
  return largest;
}

RecordReader::RecordReader(const RecordedFile& file, Crew& crew, std::size_t most_open)
    : file_(file),
      crew_(crew),
      access_(chunk_cache(file.gradients.place(), 0)),
      open_(std::min(most_open, file.datasets.size())) {}

const Dataset& RecordReader::open(std::size_t parameter, Dataset& transient) {
  Dataset& dataset = parameter < open_.size() ? open_[parameter] : transient;
  if (dataset.id() >= 0) return dataset;
  const GradientDataset& described = file_.datasets[parameter];
  if (described.route == GradientDataset::Route::library && described.is_filtered()) {
    const hdf5::Handle cached = chunk_cache(file_.gradients.place(), described.storage.chunk_bytes);
    dataset = file_.gradients.reopen_dataset(described.link, cached.get());
  } else {
    dataset = file_.gradients.reopen_dataset(described.link, access_.get());
  }
  return dataset;
}

std::string RecordReader::where(std::size_t parameter, std::int64_t row, std::int64_t column) const {
  return fmt::format("{}: {}/{}: step {}, process rank {}", file_.path.string(), file_.gradients.path(),
                     file_.datasets[parameter].link, file_.series.steps[static_cast<std::size_t>(row)],
                     file_.process_ranks[static_cast<std::size_t>(column)]);
}

Error RecordReader::never_written(std::size_t parameter, std::int64_t row, std::int64_t column) const {
  return Error::input("{}: was never written; leave the step out (--steps), or record it again",
                      where(parameter, row, column));
}

void RecordReader::check_written(std::size_t parameter, const Dataset& dataset, std::int64_t row,
                                 std::int64_t column) const {
  const GradientDataset& described = file_.datasets[parameter];
  const Shape begin = with_record(row, column, Shape(described.shape.size(), 0));
  const Shape end = with_record(row + 1, column + 1, described.shape);
  if (hdf5::first_unwritten(dataset, described.storage, begin, end)) {
    throw never_written(parameter, row, column);
  }
}

template <class T>
void RecordReader::read(std::size_t parameter, std::int64_t row, std::span<const Target<T>> targets) {
  const GradientDataset& described = file_.datasets[parameter];
  if (described.numel == 0 || targets.empty()) return;
  Dataset transient;
  const Dataset& dataset = open(parameter, transient);
  if (described.route == GradientDataset::Route::chunks) {
    read_chunks(parameter, dataset, row, targets);
    return;
  }
  for (const Target<T>& target : targets) {
    check_written(parameter, dataset, row, target.column);
    try {
      if (described.stored == native_of<T> && described.order.is_logical()) {
        read_whole(parameter, dataset, row, target);
      } else {
        read_in_pieces(parameter, dataset, row, target);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      throw Error::input("{} [step {}, process rank {}]", error.what(),
                         file_.series.steps[static_cast<std::size_t>(row)],
                         file_.process_ranks[static_cast<std::size_t>(target.column)]);
    }
  }
}

template <class T>
void RecordReader::read_whole(std::size_t parameter, const Dataset& dataset, std::int64_t row,
                              const Target<T>& target) {
  const GradientDataset& described = file_.datasets[parameter];
  hdf5::read_box(dataset, hdf5::native_type<T>(), with_record(row, target.column, Shape(described.shape.size(), 0)),
                 with_record(row + 1, target.column + 1, described.shape), target.tensor);
}

template <class T>
void RecordReader::read_in_pieces(std::size_t parameter, const Dataset& dataset, std::int64_t row,
                                  const Target<T>& target) {
  const GradientDataset& described = file_.datasets[parameter];
  const hdf5::Handle type = dataset.type();
  Block block;
  block.extents = block_extents(described);
  hdf5::for_each_chunk(block.extents, Shape(described.shape.size(), 0), described.shape, [&](const Shape& origin) {
    Block piece{origin, block.extents};
    const Shape end = end_of(piece, described.shape);
    for (std::size_t axis = 0; axis < end.size(); ++axis) piece.extents[axis] = end[axis] - origin[axis];
    const std::size_t bytes = static_cast<std::size_t>(numel(piece.extents)) * described.storage.element_size;
    Crew::Lease lease = crew_.take(bytes);
    hdf5::read_box(dataset, type.get(), with_record(row, target.column, origin),
                   with_record(row + 1, target.column + 1, end), lease->raw.reserve(bytes));
    crew_.submit(lease, [&described, piece = std::move(piece), bytes, tensor = target.tensor](Crew::Bench& bench) {
      scatter(piece, bench.raw.reserve(bytes), described.stored, described.shape, described.order, tensor);
    });
    return true;
  });
}

template <class T>
void RecordReader::read_chunks(std::size_t parameter, const Dataset& dataset, std::int64_t row,
                               std::span<const Target<T>> targets) {
  const GradientDataset& described = file_.datasets[parameter];
  const auto [first, last] = std::minmax_element(targets.begin(), targets.end(),
                                                 [](const auto& a, const auto& b) { return a.column < b.column; });
  const Shape begin = with_record(row, first->column, Shape(described.shape.size(), 0));
  const Shape end = with_record(row + 1, last->column + 1, described.shape);
  hdf5::for_each_chunk(described.storage.chunk, begin, end, [&](const Shape& origin) {
    std::vector<Target<T>> inside;
    for (const Target<T>& target : targets) {
      if (target.column >= origin[1] && target.column < origin[1] + described.storage.chunk[1])
        inside.push_back(target);
    }
    if (!inside.empty()) read_chunk(parameter, dataset, row, origin, std::move(inside));
    return true;
  });
}

template <class T>
void RecordReader::read_chunk(std::size_t parameter, const Dataset& dataset, std::int64_t row, const Shape& origin,
                              std::vector<Target<T>> targets) {
  const GradientDataset& described = file_.datasets[parameter];
  const hdf5::Storage& storage = described.storage;
  const std::uint64_t stored_bytes = hdf5::stored_chunk_bytes(dataset, origin);
  if (stored_bytes == 0) throw never_written(parameter, row, targets.front().column);
  // Deflate enlarges what it cannot compress: by its header, trailer and a few bytes a block. A checksum takes 4.
  constexpr std::uint64_t deflate_overhead = 64;
  if (stored_bytes > storage.chunk_bytes + deflate_overhead + 4 * storage.filters.size() + storage.chunk_bytes / 64) {
    throw Error::input("{}: the chunk at {} takes {} bytes in the file where its values have {}",
                       where(parameter, row, targets.front().column), to_string(origin), stored_bytes,
                       storage.chunk_bytes);
  }
  Crew::Lease lease = crew_.take(stored_bytes + 2 * storage.chunk_bytes);
  std::byte* raw = lease->raw.reserve(stored_bytes);
  const std::uint32_t mask = hdf5::read_stored_chunk(dataset, origin, raw);
  crew_.submit(lease, [=, this, &described, targets = std::move(targets)](Crew::Bench& bench) {
    try {
      std::byte* direct = direct_place<T>(described, origin, targets);
      const auto values = bench.decoder.decode(described.storage, mask, {raw, stored_bytes}, direct);
      if (values.data() != direct) scatter_chunk<T>(described, origin, row, values.data(), targets);
    } catch (const Error& error) {
      throw Error::input("{}: the chunk at {}: {}", where(parameter, row, targets.front().column), to_string(origin),
                         error.what());
    }
  });
}

template void RecordReader::read(std::size_t, std::int64_t, std::span<const Target<float>>);
template void RecordReader::read(std::size_t, std::int64_t, std::span<const Target<double>>);

}  // namespace psgd::dump
