#include "tests/cli/dump_file.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace psgd::test {
namespace {

// HDF5's own macros for these are old-style casts.
constexpr std::size_t variable_length = std::numeric_limits<std::size_t>::max();  // H5T_VARIABLE
constexpr hid_t all = 0;                                                          // H5S_ALL

hid_t checked(hid_t id) {
  if (id < 0) throw std::runtime_error("HDF5 failed while a test wrote a dump");
  return id;
}

/// Closes an identifier at the end of a scope.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(checked(id)), close_(close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close_(id_); }
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): it stands for the identifier

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

Handle space_of(const std::vector<hsize_t>& extents, const hsize_t* most = nullptr) {
  if (extents.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), most), H5Sclose};
}

void write_integers(hid_t object, const char* name, const std::vector<std::int64_t>& values, bool scalar = true) {
  const Handle space = space_of(scalar ? std::vector<hsize_t>{} : std::vector<hsize_t>{values.size()});
  const Handle attribute(H5Acreate2(object, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  checked(H5Awrite(attribute, H5T_NATIVE_INT64, values.data()));
}

Handle text_type() {
  const hid_t type = checked(H5Tcopy(H5T_C_S1));
  H5Tset_size(type, variable_length);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return {type, H5Tclose};
}

void write_text(hid_t object, const char* name, const std::string& value) {
  const Handle type = text_type();
  const Handle space = space_of({});
  const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* const text = value.c_str();
  checked(H5Awrite(attribute, type, &text));
}

void write_dataset(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& extents, const void* data,
                   hid_t stored) {
  const Handle space = space_of(extents);
  const Handle dataset(H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  checked(H5Dwrite(dataset, type, all, all, H5P_DEFAULT, data));
}

struct ParameterRow {
  const char* name;
  std::int32_t bucket;
  std::int64_t offset;
};

std::size_t elements(const DumpFile::Tensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::size_t{1}, std::multiplies<>());
}

void write_parameters(hid_t file, const DumpFile& dump) {
  const Handle text = text_type();
  const Handle type(H5Tcreate(H5T_COMPOUND, sizeof(ParameterRow)), H5Tclose);
  checked(H5Tinsert(type, "name", HOFFSET(ParameterRow, name), text));
  checked(H5Tinsert(type, "bucket", HOFFSET(ParameterRow, bucket), H5T_NATIVE_INT32));
  checked(H5Tinsert(type, "offset", HOFFSET(ParameterRow, offset), H5T_NATIVE_INT64));
  std::vector<ParameterRow> rows;
  std::int64_t offset = 0;
  for (const auto& tensor : dump.parameters) {
    rows.push_back({tensor.name.c_str(), 0, offset});
    offset += static_cast<std::int64_t>(elements(tensor));
  }
  write_dataset(file, "parameters", type, {rows.size()}, rows.data(), type);
}

float usual_value(std::size_t parameter, std::size_t step, std::size_t process_rank, std::size_t element) {
  return static_cast<float>(std::sin(0.7 * static_cast<double>(element * element % 101) + static_cast<double>(step) +
                                     2.0 * static_cast<double>(process_rank) + static_cast<double>(parameter)));
}

void write_gradient(hid_t group, const DumpFile& dump, std::size_t index) {
  const DumpFile::Tensor& tensor = dump.parameters[index];
  const std::size_t count = elements(tensor);
  std::vector<float> values;
  values.reserve(dump.steps.size() * dump.process_ranks.size() * count);
  for (std::size_t step = 0; step < dump.steps.size(); ++step) {
    for (std::size_t rank = 0; rank < dump.process_ranks.size(); ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(dump.value ? dump.value(index, step, rank, i) : usual_value(index, step, rank, i));
      }
    }
  }
  std::vector<hsize_t> extents{dump.steps.size(), dump.process_ranks.size()};
  extents.insert(extents.end(), tensor.shape.begin(), tensor.shape.end());
  std::vector<hsize_t> most = extents;
  most[0] = H5S_UNLIMITED;
  std::vector<hsize_t> chunk = extents;
  chunk[0] = std::clamp<hsize_t>(16384 / std::max<std::size_t>(count, 1), 1, std::max<hsize_t>(extents[0], 1));
  chunk[1] = 1;
  const Handle space = space_of(extents, most.data());
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  checked(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()));
  const Handle dataset(
      H5Dcreate2(group, tensor.name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose);
  if (!values.empty()) checked(H5Dwrite(dataset, H5T_NATIVE_FLOAT, all, all, H5P_DEFAULT, values.data()));
  write_text(dataset, "name", tensor.name);
  write_text(dataset, "logical_dtype", "float32");
  write_text(dataset, "memory_format", "contiguous");
}

}  // namespace

void DumpFile::write(const std::string& path) const {
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  write_text(file, "format", "psgd-gradients");
  write_integers(file, "format_version", {1, 0}, false);
  write_integers(file, "world_size", {world_size});
  write_integers(file, "ranks", process_ranks, false);
  write_text(file, "grad_kind", grad_kind);
  write_integers(file, "complete", {complete ? 1 : 0});
  write_text(file, "framework", "test");
  write_text(file, "framework_version", "1");
  write_text(file, "model", "small");
  write_text(file, "writer", "dump_file.cpp");
  write_parameters(file, *this);
  {
    const Handle group(H5Gcreate2(file, "gradients", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    for (std::size_t i = 0; i < parameters.size(); ++i) write_gradient(group, *this, i);
  }
  write_dataset(file, "steps", H5T_NATIVE_INT64, {steps.size()}, steps.data(), H5T_STD_I64LE);
}

}  // namespace psgd::test
