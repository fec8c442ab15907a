// Attributes and whole datasets: the typed reads and writes of hdf5.hpp.

#include <algorithm>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/dump/storage.hpp"

namespace psgd::dump::hdf5 {
namespace {

constexpr hssize_t most_attribute_values = hssize_t{1} << 24;
constexpr std::size_t longest_fixed_text = std::size_t{1} << 20;

// An attribute that is open, with how it is called in errors.
struct Attribute {
  Handle handle;
  std::string file;
  std::string name;
  H5T_class_t kind = H5T_NO_CLASS;
  Handle type;
  std::size_t values = 0;

  [[nodiscard]] Place place() const { return {file, name}; }
};

Attribute open_attribute(const Object& object, const char* name) {
  Attribute attribute;
  attribute.file = object.file();
  attribute.name = fmt::format("attribute \"{}\" of {}", name, object.path());
  if (!object.has_attribute(name)) throw Error::input("{}: {} is missing", attribute.file, attribute.name);
  const Place place = attribute.place();
  attribute.handle = Handle(call(place, "open it", H5Aopen, object.id(), name, H5P_DEFAULT), H5Aclose);
  attribute.type = Handle(call(place, "read its type", H5Aget_type, attribute.handle.get()), H5Tclose);
  attribute.kind = call(place, "read its type", H5Tget_class, attribute.type.get());
  const Handle space(call(place, "read its extents", H5Aget_space, attribute.handle.get()), H5Sclose);
  const hssize_t values = call(place, "read its extents", H5Sget_simple_extent_npoints, space.get());
  if (values > most_attribute_values) {
    throw Error::input("{}: {} has {} values, which is too many", attribute.file, attribute.name, values);
  }
  attribute.values = static_cast<std::size_t>(values);
  return attribute;
}

void require_single(const Attribute& attribute) {
  if (attribute.values != 1) {
    throw Error::input("{}: {} has {} values where one is expected", attribute.file, attribute.name, attribute.values);
  }
}

std::string fixed_text(const Attribute& attribute) {
  const std::size_t size = H5Tget_size(attribute.type.get());
  if (size == 0 || size > longest_fixed_text) {
    throw Error::input("{}: {} has text of {} bytes", attribute.file, attribute.name, size);
  }
  std::string text(size, '\0');
  call(attribute.place(), "read it", H5Aread, attribute.handle.get(), attribute.type.get(), text.data());
  return strip_padding(std::move(text), attribute.type.get(), attribute.place());
}

std::string variable_text(const Attribute& attribute) {
  char* text = nullptr;
  call(attribute.place(), "read it", H5Aread, attribute.handle.get(), attribute.type.get(), &text);
  const std::unique_ptr<char, decltype(&H5free_memory)> owner(text, H5free_memory);
  return text != nullptr ? text : "";
}

void replace_attribute(const Object& object, const char* name, hid_t type, const Handle& space, const void* values) {
  const Place place = object.place();
  if (object.has_attribute(name)) call(place, "replace an attribute", H5Adelete, object.id(), name);
  const Handle attribute(
      call(place, "write an attribute", H5Acreate2, object.id(), name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  call(place, "write an attribute", H5Awrite, attribute.get(), type, values);
}

Handle scalar_space(const Place& place) { return {call(place, "describe a value", H5Screate, H5S_SCALAR), H5Sclose}; }

Handle simple_space(const Place& place, const Shape& extents) {
  if (extents.empty()) return scalar_space(place);
  std::vector<hsize_t> sizes(extents.begin(), extents.end());
  return {call(place, "describe extents", H5Screate_simple, static_cast<int>(sizes.size()), sizes.data(), nullptr),
          H5Sclose};
}

template <class T>
void require_type(const Dataset& dataset) {
  const Handle type = dataset.type();
  const H5T_class_t kind = call(dataset.place(), "read its type", H5Tget_class, type.get());
  const H5T_class_t expected = std::is_floating_point_v<T> ? H5T_FLOAT : H5T_INTEGER;
  const bool wider = std::is_floating_point_v<T> && H5Tget_size(type.get()) > sizeof(T);
  if (kind != expected || wider) {
    throw Error::input("{}: {}: expected {} of at most {} bits, found {}", dataset.file(), dataset.path(),
                       expected == H5T_FLOAT ? "floating-point numbers" : "integers",
                       expected == H5T_FLOAT ? sizeof(T) * 8 : 64, describe_type(type.get()));
  }
}

}  // namespace

std::string strip_padding(std::string text, hid_t type, const Place& place) {
  const H5T_str_t padding = call(place, "read its type", H5Tget_strpad, type);
  if (padding == H5T_STR_NULLTERM) {
    text.resize(std::min(text.size(), text.find('\0')));
  } else {
    const std::size_t last = text.find_last_not_of(padding == H5T_STR_SPACEPAD ? ' ' : '\0');
    text.resize(last == std::string::npos ? 0 : last + 1);
  }
  if (text.find('\0') != std::string::npos) {
    throw Error::input("{}: {}: text with a NUL character inside", place.file, place.object);
  }
  return text;
}

std::string describe_type(hid_t type) {
  const std::size_t bits = H5Tget_size(type) * 8;
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}-bit {} integers", bits, H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned" : "signed");
    case H5T_FLOAT:
      return fmt::format("{}-bit floating-point numbers", bits);
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "compound values (complex numbers?)";
    case H5T_ENUM:
      return "enumerated values (booleans?)";
    case H5T_BITFIELD:
      return "bit fields";
    case H5T_OPAQUE:
      return "opaque bytes";
    case H5T_REFERENCE:
      return "references";
    case H5T_VLEN:
      return "variable-length sequences";
    case H5T_ARRAY:
      return "arrays as elements";
    default:
      return "an unknown type";
  }
}

bool Object::has_attribute(const char* name) const {
  return call(place(), "look up an attribute", H5Aexists, id(), name) > 0;
}

std::vector<std::int64_t> Object::read_integers(const char* name) const {
  const Attribute attribute = open_attribute(*this, name);
  if (attribute.kind != H5T_INTEGER && attribute.kind != H5T_ENUM) {
    throw Error::input("{}: {} should hold integers, not {}", attribute.file, attribute.name,
                       describe_type(attribute.type.get()));
  }
  std::vector<std::int64_t> values(attribute.values);
  if (values.empty()) return values;
  call(attribute.place(), "read it", H5Aread, attribute.handle.get(), native_type<std::int64_t>(), values.data());
  return values;
}

std::int64_t Object::read_integer(const char* name) const {
  const std::vector<std::int64_t> values = read_integers(name);
  if (values.size() != 1) {
    throw Error::input("{}: attribute \"{}\" of {} has {} values where one is expected", file(), name, path(),
                       values.size());
  }
  return values.front();
}

double Object::read_double(const char* name) const {
  const Attribute attribute = open_attribute(*this, name);
  require_single(attribute);
  if (attribute.kind != H5T_FLOAT && attribute.kind != H5T_INTEGER) {
    throw Error::input("{}: {} should be a number, not {}", attribute.file, attribute.name,
                       describe_type(attribute.type.get()));
  }
  double value = 0;
  call(attribute.place(), "read it", H5Aread, attribute.handle.get(), native_type<double>(), &value);
  return value;
}

std::string Object::read_string(const char* name) const {
  const Attribute attribute = open_attribute(*this, name);
  require_single(attribute);
  if (attribute.kind != H5T_STRING) {
    throw Error::input("{}: {} should be text, not {}", attribute.file, attribute.name,
                       describe_type(attribute.type.get()));
  }
  const bool variable = call(attribute.place(), "read its type", H5Tis_variable_str, attribute.type.get()) > 0;
  return variable ? variable_text(attribute) : fixed_text(attribute);
}

// They change the file, though not the handle.
// NOLINTBEGIN(readability-make-member-function-const)
void Object::write_integer(const char* name, std::int64_t value) {
  replace_attribute(*this, name, native_type<std::int64_t>(), scalar_space(place()), &value);
}

void Object::write_integers(const char* name, std::span<const std::int64_t> values) {
  replace_attribute(*this, name, native_type<std::int64_t>(),
                    simple_space(place(), {static_cast<std::int64_t>(values.size())}), values.data());
}

void Object::write_double(const char* name, double value) {
  replace_attribute(*this, name, native_type<double>(), scalar_space(place()), &value);
}

void Object::write_string(const char* name, std::string_view value) {
  const std::string text(value);
  const char* pointer = text.c_str();
  replace_attribute(*this, name, variable_text_type(place()).get(), scalar_space(place()), &pointer);
}
// NOLINTEND(readability-make-member-function-const)

Handle variable_text_type(const Place& place) {
  Handle type(call(place, "describe text", H5Tcopy, H5T_C_S1), H5Tclose);
  call(place, "describe text", H5Tset_size, type.get(), H5T_VARIABLE);
  call(place, "describe text", H5Tset_cset, type.get(), H5T_CSET_UTF8);
  return type;
}

Handle creation_properties(const Place& place) {
  Handle creation(call(place, "prepare creating it", H5Pcreate, H5P_DATASET_CREATE), H5Pclose);
  call(place, "prepare creating it", H5Pset_obj_track_times, creation.get(), false);
  return creation;
}

template <class T>
void Group::write(const std::string& name, std::span<const T> values, const Shape& extents) {
  const std::string path = below(name);
  const Place at{file(), path};
  if (static_cast<std::size_t>(numel(extents)) != values.size())
    throw Error::internal("{}: {}: wrong size", file(), path);
  const Handle space = simple_space(at, extents);
  const Handle dataset(call(at, "create the dataset", H5Dcreate2, id(), name.c_str(), native_type<T>(), space.get(),
                            H5P_DEFAULT, creation_properties(at).get(), H5P_DEFAULT),
                       H5Dclose);
  if (values.empty()) return;
  call(at, "write", H5Dwrite, dataset.get(), native_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
       static_cast<const void*>(values.data()));
}

template <class T>
void Group::read(const std::string& name, std::span<T> values, const Shape& extents) const {
  const Dataset dataset = open_dataset(name);
  const Shape found = dataset.extents();
  if (found != extents) {
    throw Error::input("{}: {}: has the extents {} where {} are expected", file(), dataset.path(), to_string(found),
                       to_string(extents));
  }
  if (static_cast<std::size_t>(numel(extents)) != values.size()) {
    throw Error::internal("{}: {}: wrong size", file(), dataset.path());
  }
  require_type<T>(dataset);
  const Storage storage = read_storage(dataset);
  require_known_filters(dataset, storage, false);
  if (values.empty()) return;
  require_written(dataset, storage, Shape(extents.size(), 0), extents);
  call(dataset.place(), "read", H5Dread, dataset.id(), native_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
       static_cast<void*>(values.data()));
}

template <>
hid_t native_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
hid_t native_type<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
hid_t native_type<std::int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
hid_t native_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
hid_t native_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
hid_t native_type<std::uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
hid_t native_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}

#define PSGD_INSTANTIATE(T)                                                         \
  template void Group::write(const std::string&, std::span<const T>, const Shape&); \
  template void Group::read(const std::string&, std::span<T>, const Shape&) const;
PSGD_INSTANTIATE(float)
PSGD_INSTANTIATE(double)
PSGD_INSTANTIATE(std::int32_t)
PSGD_INSTANTIATE(std::int64_t)
PSGD_INSTANTIATE(std::uint8_t)
PSGD_INSTANTIATE(std::uint32_t)
PSGD_INSTANTIATE(std::uint64_t)
#undef PSGD_INSTANTIATE

}  // namespace psgd::dump::hdf5
