#pragma once

#include <hdf5.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace psgd::test {

/// HDF5 without safeguards, to make files that no honest writer makes. Throws where the library itself refuses.
namespace raw {

template <class Result>
Result ok(Result result) {
  if (result < 0) throw std::runtime_error("HDF5 refused");
  return result;
}

/// Calls change(file) on an existing file.
inline void modify(const std::filesystem::path& path, const std::function<void(hid_t)>& change) {
  const hid_t access = ok(H5Pcreate(H5P_FILE_ACCESS));
  ok(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
  const hid_t file = ok(H5Fopen(path.c_str(), H5F_ACC_RDWR, access));
  change(file);
  ok(H5Fclose(file));
  H5Pclose(access);
}

inline hid_t simple_space(const std::vector<hsize_t>& extents, const std::vector<hsize_t>& largest = {}) {
  if (extents.empty()) return ok(H5Screate(H5S_SCALAR));
  return ok(
      H5Screate_simple(static_cast<int>(extents.size()), extents.data(), largest.empty() ? nullptr : largest.data()));
}

inline hid_t text_type(std::size_t size = H5T_VARIABLE) {
  const hid_t type = ok(H5Tcopy(H5T_C_S1));
  ok(H5Tset_size(type, size));
  return type;
}

inline void remove_attribute(hid_t object, const char* name) {
  if (ok(H5Aexists(object, name)) > 0) ok(H5Adelete(object, name));
}

inline void set_attribute(hid_t object, const char* name, hid_t type, const std::vector<hsize_t>& extents,
                          const void* value) {
  remove_attribute(object, name);
  const hid_t attribute = ok(H5Acreate2(object, name, type, simple_space(extents), H5P_DEFAULT, H5P_DEFAULT));
  ok(H5Awrite(attribute, type, value));
  ok(H5Aclose(attribute));
}

inline void set_integer(hid_t object, const char* name, int value) {
  set_attribute(object, name, H5T_NATIVE_INT, {}, &value);
}

inline void set_integers(hid_t object, const char* name, const std::vector<int>& values) {
  set_attribute(object, name, H5T_NATIVE_INT, {values.size()}, values.data());
}

inline void set_text(hid_t object, const char* name, const char* value) {
  set_attribute(object, name, text_type(), {}, &value);
}

struct Form {
  std::vector<hsize_t> extents;
  std::vector<hsize_t> largest = {};
  std::vector<hsize_t> chunk = {};
  std::function<void(hid_t)> creation = {};
  hid_t fapl = H5P_DEFAULT;
};

/// Creates a dataset, in place of one that is there.
inline hid_t replace_dataset(hid_t file, const std::string& path, hid_t type, const Form& form) {
  if (ok(H5Lexists(file, path.c_str(), H5P_DEFAULT)) > 0) ok(H5Ldelete(file, path.c_str(), H5P_DEFAULT));
  const hid_t creation = ok(H5Pcreate(H5P_DATASET_CREATE));
  if (!form.chunk.empty()) ok(H5Pset_chunk(creation, static_cast<int>(form.chunk.size()), form.chunk.data()));
  if (form.creation) form.creation(creation);
  return ok(H5Dcreate2(file, path.c_str(), type, simple_space(form.extents, form.largest), H5P_DEFAULT, creation,
                       H5P_DEFAULT));
}

inline void write_all(hid_t dataset, hid_t type, const void* values) {
  ok(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
}

/// The attributes that layout v1 wants on a dataset of gradients.
inline void describe(hid_t dataset, const char* name, const char* dtype = "float32",
                     const char* format = "contiguous") {
  set_text(dataset, "name", name);
  if (dtype != nullptr) set_text(dataset, "logical_dtype", dtype);
  set_text(dataset, "memory_format", format);
}

}  // namespace raw
}  // namespace psgd::test
