#include "libpsgd/dump/series.hpp"

#include <algorithm>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/schema.hpp"
#include "libpsgd/dump/storage.hpp"

namespace psgd::dump {
namespace {

using hdf5::Dataset;

constexpr std::int64_t most_steps = 100'000'000;
constexpr std::int64_t most_values = std::int64_t{1} << 30;
constexpr std::int64_t most_flags = std::int64_t{1} << 33;
constexpr std::int64_t flags_at_a_time = std::int64_t{4} << 20;

Shape rows_of(std::int64_t rows, const Shape& rest) {
  Shape extents;
  extents.reserve(rest.size() + 1);
  extents.push_back(rows);
  for (const std::int64_t extent : rest) extents.push_back(extent);
  return extents;
}

// Opens an optional dataset and checks kind, filters and extents [at least `rows`, *rest].
Dataset open_series(const hdf5::Group& root, const char* name, H5T_class_t kind, std::int64_t rows, const Shape& rest) {
  Dataset dataset = root.open_dataset(name);
  const hdf5::Handle type = dataset.type();
  if (H5Tget_class(type.get()) != kind) {
    throw Error::input("{}: {} holds {} where {} are expected", dataset.file(), dataset.path(),
                       hdf5::describe_type(type.get()), kind == H5T_FLOAT ? "floating-point numbers" : "integers");
  }
  const Shape extents = dataset.extents();
  const Shape expected = rows_of(rows, rest);
  Shape leading(extents);
  if (!leading.empty() && leading[0] > rows) leading[0] = rows;
  if (leading != expected) {
    throw Error::input("{}: {} has the extents {} where {} are expected", dataset.file(), dataset.path(),
                       to_string(extents), to_string(expected));
  }
  hdf5::require_known_filters(dataset, hdf5::read_storage(dataset), false);
  return dataset;
}

template <class T>
std::vector<T> read_optional(const hdf5::Group& root, const char* name, std::int64_t rows, const Shape& rest) {
  if (!root.has(name)) return {};
  const Dataset dataset = open_series(root, name, std::is_floating_point_v<T> ? H5T_FLOAT : H5T_INTEGER, rows, rest);
  const Shape end = rows_of(rows, rest);
  const std::int64_t count = numel(end);
  if (count > most_values) {
    throw Error::input("{}: {} has {} values, which is too many", dataset.file(), dataset.path(), count);
  }
  // Unlike gradients these may hold fill values on purpose: a value that was not given.
  std::vector<T> values(static_cast<std::size_t>(count));
  hdf5::read_box(dataset, hdf5::native_type<T>(), Shape(end.size(), 0), end, values.data());
  return values;
}

std::vector<bool> read_absent(const hdf5::Group& root, std::int64_t rows, std::int64_t process_ranks,
                              std::int64_t parameters) {
  if (!root.has(schema::present)) return {};
  const Dataset dataset = open_series(root, schema::present, H5T_INTEGER, rows, {process_ranks, parameters});
  const std::int64_t row = numel({process_ranks, parameters});
  if (row > most_flags / rows) {
    throw Error::input("{}: {} has {} × {} flags, which is too many", dataset.file(), dataset.path(), rows, row);
  }
  const std::int64_t rows_at_a_time = std::max<std::int64_t>(1, flags_at_a_time / row);
  std::vector<bool> absent;
  std::vector<std::uint8_t> flags;
  for (std::int64_t begin = 0; begin < rows; begin += rows_at_a_time) {
    const std::int64_t end = std::min(rows, begin + rows_at_a_time);
    flags.resize(static_cast<std::size_t>((end - begin) * row));
    hdf5::read_box(dataset, hdf5::native_type<std::uint8_t>(), {begin, 0, 0}, {end, process_ranks, parameters},
                   flags.data());
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (flags[i] != 0) continue;
      if (absent.empty()) absent.resize(static_cast<std::size_t>(numel({rows, row})));
      absent[static_cast<std::size_t>(begin * row) + i] = true;
    }
  }
  return absent;
}

}  // namespace

std::vector<std::int64_t> read_steps(const hdf5::Group& root) {
  const Dataset dataset = open_series(root, schema::steps, H5T_INTEGER, 0, {});
  const std::int64_t count = dataset.extents()[0];
  if (count == 0) throw Error::input("{}: holds no complete step ({} is empty)", dataset.file(), dataset.path());
  if (count > most_steps) {
    throw Error::input("{}: {} claims {} steps; at most {} are read", dataset.file(), dataset.path(), count,
                       most_steps);
  }
  hdf5::require_written(dataset, hdf5::read_storage(dataset), {0}, {count});
  std::vector<std::int64_t> steps(static_cast<std::size_t>(count));
  hdf5::read_box(dataset, hdf5::native_type<std::int64_t>(), {0}, {count}, steps.data());
  if (steps.front() < 0) throw Error::input("{}: {} begins with {}", dataset.file(), dataset.path(), steps.front());
  const auto fall = std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>());
  if (fall != steps.end()) {
    throw Error::input("{}: {}: step {} is followed by step {}; each step may occur once, in ascending order",
                       dataset.file(), dataset.path(), *fall, *(fall + 1));
  }
  return steps;
}

Series read_series(const hdf5::Group& root, std::vector<std::int64_t> steps, std::int64_t process_ranks,
                   std::int64_t parameters) {
  const auto rows = static_cast<std::int64_t>(steps.size());
  Series series;
  series.steps = std::move(steps);
  series.loss_scale = read_optional<float>(root, schema::loss_scale, rows, {process_ranks});
  series.loss = read_optional<double>(root, schema::loss, rows, {process_ranks});
  series.accumulation = read_optional<std::int32_t>(root, schema::accumulation, rows, {});
  series.absent = read_absent(root, rows, process_ranks, parameters);
  return series;
}

}  // namespace psgd::dump
