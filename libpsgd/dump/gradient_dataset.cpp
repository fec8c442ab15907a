#include "libpsgd/dump/gradient_dataset.hpp"

#include <algorithm>
#include <optional>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/schema.hpp"
#include "libpsgd/dump/stored_type.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump {
namespace {

using hdf5::call;
using hdf5::Dataset;

bool is_sixteen_bits(hid_t type) {
  return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 2 && H5Tget_precision(type) == 16 &&
         H5Tget_offset(type) == 0 && H5Tget_sign(type) == H5T_SGN_NONE;
}

std::optional<DType> read_logical_dtype(const Dataset& dataset) {
  if (!dataset.has_attribute(schema::attribute::logical_dtype)) return std::nullopt;
  const std::string name = dataset.read_string(schema::attribute::logical_dtype);
  try {
    return dtype_from_string(name);
  } catch (const Error&) {
    throw Error::input("{}: {}: logical_dtype is \"{}\"; known are float16, bfloat16, float32 and float64",
                       dataset.file(), dataset.path(), make_printable(name));
  }
}

StoredType read_stored_type(const Dataset& dataset, std::optional<DType> logical) {
  const hdf5::Handle type = dataset.type();
  if (logical == DType::bfloat16 && is_sixteen_bits(type.get())) {
    return {DType::bfloat16, is_swapped(H5Tget_order(type.get()))};
  }
  if (H5Tget_class(type.get()) == H5T_FLOAT) {
    if (const auto stored = recognize_float(dataset, type.get())) return *stored;
  }
  throw Error::input(
      "{}: {}: gradients are stored as {}; read are float16, float32 and float64 in either byte order, and bfloat16 as "
      "a "
      "16-bit float or as uint16 with logical_dtype = \"bfloat16\"",
      dataset.file(), dataset.path(), hdf5::describe_type(type.get()));
}

void check_name(const Dataset& dataset, const Parameter& parameter) {
  const std::string name = dataset.read_string(schema::attribute::name);
  if (name != parameter.name) {
    throw Error::input("{}: {}: its attribute \"name\" says \"{}\" where /parameters says \"{}\"", dataset.file(),
                       dataset.path(), make_printable(name), parameter.name);
  }
}

Shape check_extents(const Dataset& dataset, const RecordExtents& expected) {
  const Shape extents = dataset.extents();
  if (extents.size() < 2) {
    throw Error::input("{}: {}: has the extents {} where [steps, process ranks, …] are expected", dataset.file(),
                       dataset.path(), to_string(extents));
  }
  if (extents[0] < expected.steps) {
    throw Error::input("{}: {}: holds {} steps where /steps lists {}", dataset.file(), dataset.path(), extents[0],
                       expected.steps);
  }
  if (extents[1] != expected.process_ranks) {
    throw Error::input("{}: {}: holds {} process ranks where the attribute \"ranks\" lists {}", dataset.file(),
                       dataset.path(), extents[1], expected.process_ranks);
  }
  return {extents.begin() + 2, extents.end()};
}

void read_memory_format(const Dataset& dataset, Parameter& parameter, MemoryOrder& order) {
  const std::string name = dataset.read_string(schema::attribute::memory_format);
  try {
    parameter.memory_format = memory_format_from_string(name);
    order = memory_order(parameter.shape, parameter.memory_format);
  } catch (const Error& error) {
    throw Error::input("{}: {}: {}", dataset.file(), dataset.path(), make_printable(error.what()));
  }
}

std::int64_t count_elements(const Dataset& dataset, const Shape& shape) {
  try {
    return numel(shape);
  } catch (const Error& error) {
    throw Error::input("{}: {}: {}", dataset.file(), dataset.path(), error.what());
  }
}

// Where HDF5 itself inflates, one thread does it, and a chunk that does not fit its cache is inflated for every read.
GradientDataset::Route choose_route(const hdf5::Storage& storage) {
  if (storage.filters.empty() || storage.partial_chunks_unfiltered) return GradientDataset::Route::library;
  const bool ours = std::all_of(storage.filters.begin(), storage.filters.end(), [](const hdf5::Filter& filter) {
    return filter.id == H5Z_FILTER_SHUFFLE || filter.id == H5Z_FILTER_DEFLATE || filter.id == H5Z_FILTER_FLETCHER32;
  });
  return ours ? GradientDataset::Route::chunks : GradientDataset::Route::library;
}

}  // namespace

GradientDataset describe_gradients(const hdf5::Group& gradients, std::string link, hid_t access,
                                   const RecordExtents& extents, bool plugins_allowed, Parameter& parameter) {
  GradientDataset result;
  result.link = std::move(link);
  const Dataset dataset = gradients.open_dataset(result.link, access);
  check_name(dataset, parameter);
  const std::optional<DType> logical = read_logical_dtype(dataset);
  result.stored = read_stored_type(dataset, logical);
  result.shape = check_extents(dataset, extents);
  result.numel = count_elements(dataset, result.shape);
  parameter.dtype = logical.value_or(result.stored.dtype);
  parameter.shape = result.shape;
  read_memory_format(dataset, parameter, result.order);
  result.storage = hdf5::read_storage(dataset);
  hdf5::require_known_filters(dataset, result.storage, plugins_allowed);
  result.route = choose_route(result.storage);
  return result;
}

hdf5::Handle chunk_cache(const hdf5::Place& place, std::size_t bytes) {
  hdf5::Handle access(call(place, "prepare reading", H5Pcreate, H5P_DATASET_ACCESS), H5Pclose);
  call(place, "prepare reading", H5Pset_chunk_cache, access.get(), std::size_t{1}, bytes, 1.0);
  return access;
}

}  // namespace psgd::dump
