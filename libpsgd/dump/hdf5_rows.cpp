#include "libpsgd/dump/hdf5_rows.hpp"

#include "libpsgd/base/error.hpp"

namespace psgd::dump::hdf5 {
namespace {

Handle space_of(const Place& place, std::span<const hsize_t> extents) {
  return {
      call(place, "describe the extents", H5Screate_simple, static_cast<int>(extents.size()), extents.data(), nullptr),
      H5Sclose};
}

/// The memory space of one row, and the file space with that row chosen.
struct RowSpaces {
  Handle memory;
  Handle file;
};

RowSpaces select_row(const Place& place, hsize_t rows, hsize_t length, hsize_t row) {
  const hsize_t all[] = {rows, length};
  const hsize_t one[] = {1, length};
  const hsize_t start[] = {row, 0};
  RowSpaces spaces{space_of(place, one), space_of(place, all)};
  call(place, "choose a row", H5Sselect_hyperslab, spaces.file.get(), H5S_SELECT_SET, start, nullptr, one, nullptr);
  return spaces;
}

}  // namespace

template <class T>
void write_rows(Group& group, const std::string& name, std::span<const T* const> rows, std::int64_t length) {
  const hsize_t extents[] = {rows.size(), static_cast<hsize_t>(length)};
  const Place place{group.file(), name};
  const Handle space = space_of(place, extents);
  const Handle dataset(call(place, "create the dataset", H5Dcreate2, group.id(), name.c_str(), native_type<T>(),
                            space.get(), H5P_DEFAULT, creation_properties(place).get(), H5P_DEFAULT),
                       H5Dclose);
  for (std::size_t row = 0; row < rows.size() && length > 0; ++row) {
    const RowSpaces spaces = select_row(place, extents[0], extents[1], row);
    call(place, "write", H5Dwrite, dataset.get(), native_type<T>(), spaces.memory.get(), spaces.file.get(), H5P_DEFAULT,
         static_cast<const void*>(rows[row]));
  }
}

template <class T>
void read_rows(const Group& group, const std::string& name, std::span<T* const> rows, std::int64_t length) {
  const Dataset dataset = group.open_dataset(name);
  const Shape expected{static_cast<std::int64_t>(rows.size()), length};
  if (dataset.extents() != expected) {
    throw Error::input("{}: {} has extents {}, expected {}", group.file(), dataset.path(), to_string(dataset.extents()),
                       to_string(expected));
  }
  const Handle type = dataset.type();
  if (H5Tget_class(type.get()) != H5T_FLOAT || H5Tget_size(type.get()) > sizeof(T)) {
    throw Error::input("{}: {} is not of the expected floating-point type", group.file(), dataset.path());
  }
  for (std::size_t row = 0; row < rows.size() && length > 0; ++row) {
    const RowSpaces spaces = select_row(dataset.place(), rows.size(), static_cast<hsize_t>(length), row);
    call(dataset.place(), "read", H5Dread, dataset.id(), native_type<T>(), spaces.memory.get(), spaces.file.get(),
         H5P_DEFAULT, static_cast<void*>(rows[row]));
  }
}

template void write_rows(Group&, const std::string&, std::span<const float* const>, std::int64_t);
template void write_rows(Group&, const std::string&, std::span<const double* const>, std::int64_t);
template void read_rows(const Group&, const std::string&, std::span<float* const>, std::int64_t);
template void read_rows(const Group&, const std::string&, std::span<double* const>, std::int64_t);

}  // namespace psgd::dump::hdf5
