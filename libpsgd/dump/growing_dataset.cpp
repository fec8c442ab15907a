#include "libpsgd/dump/growing_dataset.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "libpsgd/dump/gradient_dataset.hpp"
#include "libpsgd/dump/storage.hpp"

namespace psgd::dump {
namespace {

using hdf5::call;
using hdf5::Handle;

constexpr std::int64_t series_chunk = 1024;                            // records
constexpr std::int64_t series_chunk_elements = std::int64_t{1} << 18;  // where records are long

std::vector<hsize_t> with_records(hsize_t records, const Shape& record) {
  std::vector<hsize_t> extents{records};
  for (const std::int64_t extent : record) extents.push_back(static_cast<hsize_t>(extent));
  return extents;
}

Handle creation_properties(const hdf5::Place& place, const DatasetForm& form) {
  Handle creation = hdf5::creation_properties(place);
  if (form.fill != nullptr) {
    call(place, "set its fill value", H5Pset_fill_value, creation.get(), form.type, form.fill);
  }
  if (form.chunk.empty()) return creation;
  const std::vector<hsize_t> chunk(form.chunk.begin(), form.chunk.end());
  call(place, "set its chunks", H5Pset_chunk, creation.get(), static_cast<int>(chunk.size()), chunk.data());
  if (form.shuffle) call(place, "set its filters", H5Pset_shuffle, creation.get());
  if (form.gzip > 0) call(place, "set its filters", H5Pset_deflate, creation.get(), static_cast<unsigned>(form.gzip));
  if (form.fletcher32) call(place, "set its filters", H5Pset_fletcher32, creation.get());
  return creation;
}

hdf5::Dataset create(hdf5::Group& parent, const std::string& name, const DatasetForm& form) {
  const std::string path = parent.path() == "/" ? "/" + name : parent.path() + "/" + name;
  const hdf5::Place place{parent.file(), path};
  const std::vector<hsize_t> extents = with_records(static_cast<hsize_t>(form.records), form.record);
  const std::vector<hsize_t> largest = with_records(H5S_UNLIMITED, form.record);
  const Handle space(call(place, "describe its extents", H5Screate_simple, static_cast<int>(extents.size()),
                          extents.data(), form.chunk.empty() ? nullptr : largest.data()),
                     H5Sclose);
  const Handle creation = creation_properties(place, form);
  // Small records share a chunk with later ones: it has to stay in memory until it is full.
  const Handle access = chunk_cache(place, std::size_t{1} << 20);
  Handle dataset(call(place, "create it", H5Dcreate2, parent.id(), name.c_str(), form.type, space.get(), H5P_DEFAULT,
                      creation.get(), access.get()),
                 H5Dclose);
  return parent.adopt(std::move(dataset), name);
}

}  // namespace

std::int64_t shared_chunk_bytes(std::size_t datasets) {
  constexpr std::int64_t most = std::int64_t{64} << 10;
  constexpr std::int64_t most_together = std::int64_t{16} << 20;
  return std::min(most, most_together / static_cast<std::int64_t>(std::max<std::size_t>(1, datasets)));
}

DatasetForm DatasetForm::series(hid_t type, const Shape& record) {
  DatasetForm form;
  form.type = type;
  form.record = record;
  form.chunk = record;
  form.chunk.insert(
      form.chunk.begin(),
      std::clamp<std::int64_t>(series_chunk_elements / std::max<std::int64_t>(1, numel(record)), 1, series_chunk));
  return form;
}

GrowingDataset::GrowingDataset(hdf5::Group& parent, const std::string& name, const DatasetForm& form)
    : record_(form.record), fixed_(form.chunk.empty()), dataset_(create(parent, name, form)) {}

void GrowingDataset::extend(std::int64_t records) {
  if (fixed_) return;
  const std::vector<hsize_t> extents = with_records(static_cast<hsize_t>(records), record_);
  call(dataset_.place(), "extend it", H5Dset_extent, dataset_.id(), extents.data());
}

void GrowingDataset::write_record(std::int64_t index, hid_t memory, const void* values) {
  write_part(index, {}, {}, memory, values);
}

void GrowingDataset::write_part(std::int64_t index, const Shape& first, const Shape& last, hid_t memory,
                                const void* values) {
  if (numel(record_) == 0) return;
  Shape begin{index};
  Shape end{index + 1};
  for (std::size_t axis = 0; axis < record_.size(); ++axis) {
    begin.push_back(axis < first.size() ? first[axis] : 0);
    end.push_back(axis < last.size() ? last[axis] : record_[axis]);
  }
  hdf5::write_box(dataset_, memory, begin, end, values);
}

}  // namespace psgd::dump
