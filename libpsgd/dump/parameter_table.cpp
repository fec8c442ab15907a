#include "libpsgd/dump/parameter_table.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <unordered_set>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/schema.hpp"
#include "libpsgd/dump/storage.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump {
namespace {

using hdf5::call;
using hdf5::Dataset;
using hdf5::Handle;

constexpr std::size_t largest_name_table = std::size_t{256} << 20;

struct Place {
  std::int64_t bucket;
  std::int64_t offset;
};

struct Row {
  const char* name;
  std::int32_t bucket;
  std::int64_t offset;
};

Handle compound(const Dataset& table, std::size_t size) {
  return {call(table.place(), "describe its records", H5Tcreate, H5T_COMPOUND, size), H5Tclose};
}

// The stored type of one field, after checking its kind.
Handle field_type(const Dataset& table, const Handle& record, const char* field, H5T_class_t kind) {
  const int index = call(table.place(), fmt::format("find the field \"{}\" of its records", field), H5Tget_member_index,
                         record.get(), field);
  Handle type(call(table.place(), "read its type", H5Tget_member_type, record.get(), static_cast<unsigned>(index)),
              H5Tclose);
  if (H5Tget_class(type.get()) != kind) {
    throw Error::input("{}: {}: the field \"{}\" holds {}", table.file(), table.path(), field,
                       hdf5::describe_type(type.get()));
  }
  return type;
}

std::vector<std::string> read_variable_names(const Dataset& table, const Handle& name_type, std::size_t count) {
  const Handle memory = compound(table, sizeof(char*));
  call(table.place(), "describe its records", H5Tinsert, memory.get(), schema::field::name, std::size_t{0},
       name_type.get());
  const Handle space(call(table.place(), "read its extents", H5Dget_space, table.id()), H5Sclose);
  std::vector<char*> texts(count, nullptr);
  // The strings are the library's; it takes them back whatever happens.
  const auto give_back = [&](char** strings) {
    const auto lock = hdf5::enter_library();
    H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, static_cast<void*>(strings));
  };
  const std::unique_ptr<char*, decltype(give_back)> reclaim(texts.data(), give_back);
  call(table.place(), "read its names", H5Dread, table.id(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
       static_cast<void*>(texts.data()));
  std::vector<std::string> names;
  names.reserve(count);
  for (const char* text : texts) names.emplace_back(text != nullptr ? text : "");
  return names;
}

std::vector<std::string> read_fixed_names(const Dataset& table, const Handle& name_type, std::size_t count) {
  const std::size_t size = H5Tget_size(name_type.get());
  if (size == 0 || size > largest_name_table / count) {
    throw Error::input("{}: {}: {} names of {} bytes are too many", table.file(), table.path(), count, size);
  }
  const Handle memory = compound(table, size);
  call(table.place(), "describe its records", H5Tinsert, memory.get(), schema::field::name, std::size_t{0},
       name_type.get());
  std::string texts(count * size, '\0');
  call(table.place(), "read its names", H5Dread, table.id(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
       static_cast<void*>(texts.data()));
  std::vector<std::string> names;
  names.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(hdf5::strip_padding(texts.substr(i * size, size), name_type.get(), table.place()));
  }
  return names;
}

std::vector<Place> read_places(const Dataset& table, std::size_t count) {
  const Handle memory = compound(table, sizeof(Place));
  const hid_t integer = hdf5::native_type<std::int64_t>();
  call(table.place(), "describe its records", H5Tinsert, memory.get(), schema::field::bucket, offsetof(Place, bucket),
       integer);
  call(table.place(), "describe its records", H5Tinsert, memory.get(), schema::field::offset, offsetof(Place, offset),
       integer);
  std::vector<Place> places(count);
  call(table.place(), "read its buckets", H5Dread, table.id(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
       static_cast<void*>(places.data()));
  return places;
}

std::size_t count_rows(const Dataset& table) {
  const Shape extents = table.extents();
  if (extents.size() != 1) {
    throw Error::input("{}: {}: has the extents {} where one is expected", table.file(), table.path(),
                       to_string(extents));
  }
  if (extents[0] == 0)
    throw Error::input("{}: {} is empty: the dump describes no parameter", table.file(), table.path());
  if (extents[0] > most_parameters) {
    throw Error::input("{}: {} lists {} parameters; at most {} are read", table.file(), table.path(), extents[0],
                       most_parameters);
  }
  const hdf5::Storage storage = hdf5::read_storage(table);
  hdf5::require_known_filters(table, storage, false);
  hdf5::require_written(table, storage, {0}, extents);
  return static_cast<std::size_t>(extents[0]);
}

void check_names(const Dataset& table, const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_printable(names[i])) {
      throw Error::input("{}: {}: the name of record {} (\"{}\") is not UTF-8 text without control characters",
                         table.file(), table.path(), i, make_printable(names[i]));
    }
    if (!seen.insert(names[i]).second) {
      throw Error::input("{}: {}: two parameters are named \"{}\"", table.file(), table.path(), names[i]);
    }
  }
}

}  // namespace

std::vector<Parameter> read_parameter_table(const hdf5::Group& root) {
  const Dataset table = root.open_dataset(schema::parameters);
  const Handle record = table.type();
  if (H5Tget_class(record.get()) != H5T_COMPOUND) {
    throw Error::input("{}: {} holds {} where records of name, bucket and offset are expected", table.file(),
                       table.path(), hdf5::describe_type(record.get()));
  }
  const Handle name_type = field_type(table, record, schema::field::name, H5T_STRING);
  field_type(table, record, schema::field::bucket, H5T_INTEGER);
  field_type(table, record, schema::field::offset, H5T_INTEGER);
  const std::size_t count = count_rows(table);
  const bool variable = call(table.place(), "read its type", H5Tis_variable_str, name_type.get()) > 0;
  const std::vector<std::string> names =
      variable ? read_variable_names(table, name_type, count) : read_fixed_names(table, name_type, count);
  check_names(table, names);
  const std::vector<Place> places = read_places(table, count);
  std::vector<Parameter> parameters(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (places[i].bucket < -1 || places[i].bucket > std::numeric_limits<std::int32_t>::max()) {
      throw Error::input("{}: {}: \"{}\" lies in bucket {}", table.file(), table.path(), names[i], places[i].bucket);
    }
    parameters[i].name = names[i];
    parameters[i].bucket = static_cast<std::int32_t>(places[i].bucket);
    parameters[i].offset = places[i].offset;
  }
  return parameters;
}

void write_parameter_table(hdf5::Group& root, const std::vector<Parameter>& parameters) {
  const hdf5::Place place{root.file(), "/parameters"};
  const Handle text = hdf5::variable_text_type(place);
  const Handle record(call(place, "describe its records", H5Tcreate, H5T_COMPOUND, sizeof(Row)), H5Tclose);
  const auto insert = [&](const char* name, std::size_t offset, hid_t type) {
    call(place, "describe its records", H5Tinsert, record.get(), name, offset, type);
  };
  insert(schema::field::name, offsetof(Row, name), text.get());
  insert(schema::field::bucket, offsetof(Row, bucket), hdf5::native_type<std::int32_t>());
  insert(schema::field::offset, offsetof(Row, offset), hdf5::native_type<std::int64_t>());
  const Handle stored(call(place, "describe its records", H5Tcopy, record.get()), H5Tclose);
  call(place, "describe its records", H5Tpack, stored.get());
  std::vector<Row> rows;
  rows.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    rows.push_back({parameter.name.c_str(), parameter.bucket, parameter.bucket < 0 ? 0 : parameter.offset});
  }
  const hsize_t count = rows.size();
  const Handle space(call(place, "describe its extents", H5Screate_simple, 1, &count, nullptr), H5Sclose);
  const Handle table(call(place, "create it", H5Dcreate2, root.id(), schema::parameters, stored.get(), space.get(),
                          H5P_DEFAULT, hdf5::creation_properties(place).get(), H5P_DEFAULT),
                     H5Dclose);
  call(place, "write it", H5Dwrite, table.get(), record.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
       static_cast<const void*>(rows.data()));
}

bool settle_buckets(const std::string& file, std::vector<Parameter>& parameters) {
  const auto missing =
      std::count_if(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.bucket < 0; });
  if (missing == static_cast<std::ptrdiff_t>(parameters.size())) {
    assign_default_buckets(parameters);
    return false;
  }
  if (missing != 0) {
    throw Error::input("{}: /parameters gives {} of {} parameters no bucket; give one to all of them, or -1 to all",
                       file, missing, parameters.size());
  }
  constexpr std::int64_t largest_offset = std::int64_t{1} << 60;
  for (const Parameter& parameter : parameters) {
    if (parameter.offset < 0 || parameter.offset > largest_offset) {
      throw Error::input("{}: /parameters places \"{}\" at offset {}", file, parameter.name, parameter.offset);
    }
  }
  std::vector<std::size_t> all(parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  try {
    layout_gradients(parameters, all);
  } catch (const Error& error) {
    throw Error::input("{}: /parameters: {}", file, error.what());
  }
  return true;
}

}  // namespace psgd::dump
