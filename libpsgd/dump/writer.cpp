#include "libpsgd/dump/writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/growing_dataset.hpp"
#include "libpsgd/dump/half.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/dump/parameter_table.hpp"
#include "libpsgd/dump/schema.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump {
namespace {

using hdf5::call;
using hdf5::Handle;
using hdf5::native_type;

void check_options(const WriterOptions& options) {
  std::set<std::string> names;
  for (const Parameter& parameter : options.parameters) {
    if (!is_printable(parameter.name))
      throw Error::usage("parameter name \"{}\" is not printable", make_printable(parameter.name));
    if (!names.insert(parameter.name).second) throw Error::usage("two parameters are named \"{}\"", parameter.name);
  }
  if (names.empty()) throw Error::usage("a dump needs a parameter");
  const bool filtered = options.shuffle || options.fletcher32 || options.gzip != 0;
  if (options.contiguous_steps != 0 && filtered) throw Error::usage("contiguous storage takes no filters");
  std::set<std::int64_t> ranks(options.process_ranks.begin(), options.process_ranks.end());
  if (options.process_ranks.empty() || ranks.size() != options.process_ranks.size() || *ranks.begin() < 0 ||
      *ranks.rbegin() >= options.world_size) {
    throw Error::usage("process ranks have to be distinct numbers below the world size {}", options.world_size);
  }
}

Handle sixteen_bit_float(const hdf5::Place& place, DType dtype) {
  Handle type(call(place, "describe a number", H5Tcopy, H5T_IEEE_F32LE), H5Tclose);
  const std::size_t mantissa = dtype == DType::float16 ? 10 : 7;
  const auto set = [&](auto function, auto... values) {
    call(place, "describe a number", function, type.get(), values...);
  };
  set(H5Tset_fields, std::size_t{15}, mantissa, 15 - mantissa, std::size_t{0}, mantissa);
  set(H5Tset_precision, std::size_t{16});
  set(H5Tset_ebias, dtype == DType::float16 ? std::size_t{15} : std::size_t{127});
  set(H5Tset_size, std::size_t{2});
  return type;
}

Handle stored_type(const hdf5::Place& place, DType dtype, const WriterOptions& options) {
  Handle type;
  if (dtype == DType::float16 || (dtype == DType::bfloat16 && options.bfloat16_as_float)) {
    type = sixteen_bit_float(place, dtype);
  } else {
    const hid_t known = dtype == DType::bfloat16  ? H5T_STD_U16LE
                        : dtype == DType::float32 ? H5T_IEEE_F32LE
                                                  : H5T_IEEE_F64LE;
    type = Handle(call(place, "describe a number", H5Tcopy, known), H5Tclose);
  }
  call(place, "describe a number", H5Tset_order, type.get(), options.big_endian ? H5T_ORDER_BE : H5T_ORDER_LE);
  return type;
}

template <class Bits>
std::array<std::byte, 8> in_order(Bits bits, bool big_endian) {
  std::array<std::byte, 8> bytes{};
  std::memcpy(bytes.data(), &bits, sizeof bits);
  if (big_endian != (std::endian::native == std::endian::big)) std::reverse(bytes.begin(), bytes.begin() + sizeof bits);
  return bytes;
}

// NaN as it lies in the file: what was never written is not to pass for a gradient.
std::array<std::byte, 8> fill_value(DType dtype, bool big_endian) {
  switch (dtype) {
    case DType::float16:
      return in_order(std::uint16_t{0x7E00}, big_endian);
    case DType::bfloat16:
      return in_order(std::uint16_t{0x7FC0}, big_endian);
    case DType::float32:
      return in_order(std::numeric_limits<float>::quiet_NaN(), big_endian);
    case DType::float64:
      break;
  }
  return in_order(std::numeric_limits<double>::quiet_NaN(), big_endian);
}

}  // namespace

struct Writer::Impl {
  struct Tensor {
    Handle type;
    GrowingDataset dataset;
  };

  WriterOptions options;
  hdf5::File file;
  std::vector<Tensor> tensors;
  std::map<std::string, GrowingDataset> series;
  std::int64_t rows = 0;
  std::int64_t last_step = -1;
  bool failed = false;

  Impl(const std::filesystem::path& path, WriterOptions chosen) : options(std::move(chosen)) {
    if (options.process_ranks.empty()) {
      options.process_ranks.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, options.world_size)));
      std::iota(options.process_ranks.begin(), options.process_ranks.end(), 0);
    }
    check_options(options);
    file = hdf5::File::create(path, options.shown_as);
    write_attributes();
    add_series(schema::steps, native_type<std::int64_t>(), {}, nullptr);
    write_parameter_table(file, options.parameters);
    const float no_scale = 1;
    add_series(schema::loss_scale, native_type<float>(), {columns()}, &no_scale);
    hdf5::Group gradients = file.create_group(schema::gradients);
    for (const Parameter& parameter : options.parameters) add_tensor(gradients, parameter);
    file.flush();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  /// After a failed write what HDF5 still holds cannot be written either, and its datasets crash in trying: they are
  /// closed once the file takes everything.
  ~Impl() {
    if (failed) file.discard();
  }

  template <class Action>
  void attempt(Action action) {
    try {
      action();
    } catch (...) {
      failed = true;
      throw;
    }
  }

  [[nodiscard]] std::int64_t columns() const { return static_cast<std::int64_t>(options.process_ranks.size()); }

  void write_attributes() {
    file.write_string(schema::attribute::format, schema::format);
    const std::array version{schema::major_version, schema::minor_version};
    file.write_integers(schema::attribute::format_version, version);
    file.write_integer(schema::attribute::world_size, options.world_size);
    file.write_integers(schema::attribute::ranks, options.process_ranks);
    file.write_string(schema::attribute::grad_kind, to_string(options.grad_kind));
    file.write_integer(schema::attribute::complete, 0);
    file.write_string(schema::attribute::framework, options.framework);
    file.write_string(schema::attribute::framework_version, options.framework_version);
    file.write_string(schema::attribute::model, options.model);
    file.write_string(schema::attribute::writer, options.writer);
  }

  void add_series(const char* name, hid_t type, const Shape& record, const void* fill) {
    DatasetForm form = DatasetForm::series(type, record);
    form.fill = fill;
    form.records = rows;
    series.try_emplace(name, file, name, form);
  }

  void add_tensor(hdf5::Group& gradients, const Parameter& parameter) {
    const bool filtered = options.shuffle || options.fletcher32 || options.gzip != 0;
    const std::array<std::byte, 8> fill = fill_value(parameter.dtype, options.big_endian);
    Handle type = stored_type(file.place(), parameter.dtype, options);
    DatasetForm form;
    form.type = type.get();
    form.record = {columns()};
    form.record.insert(form.record.end(), parameter.shape.begin(), parameter.shape.end());
    form.records = options.contiguous_steps;
    if (options.contiguous_steps == 0) {
      form.chunk = schema::chunk_extents(parameter.shape, size_of(parameter.dtype), filtered,
                                         shared_chunk_bytes(options.parameters.size() * options.process_ranks.size()));
    }
    form.fill = fill.data();
    form.shuffle = options.shuffle;
    form.gzip = options.gzip;
    form.fletcher32 = options.fletcher32;
    GrowingDataset dataset(gradients, schema::link_name(parameter.name), form);
    dataset.object().write_string(schema::attribute::name, parameter.name);
    dataset.object().write_string(schema::attribute::logical_dtype, to_string(parameter.dtype));
    dataset.object().write_string(schema::attribute::memory_format, to_string(parameter.memory_format));
    tensors.push_back({std::move(type), std::move(dataset)});
  }

  template <class T>
  void write_tensor(std::size_t index, std::int64_t column, const T* values) {
    const Parameter& parameter = options.parameters[index];
    Tensor& tensor = tensors[index];
    if (!is_half_precision(parameter.dtype)) {
      tensor.dataset.write_part(rows, {column}, {column + 1}, native_type<T>(), values);
      return;
    }
    const std::int64_t count = numel(parameter.shape);
    const auto encode = parameter.dtype == DType::float16 ? to_float16_bits : to_bfloat16_bits;
    const bool swap = options.big_endian != (std::endian::native == std::endian::big);
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
    std::transform(values, values + count, bits.begin(), [&](T value) {
      const std::uint16_t code = encode(static_cast<float>(value));
      return swap ? static_cast<std::uint16_t>(code << 8U | code >> 8U) : code;
    });
    tensor.dataset.write_part(rows, {column}, {column + 1}, tensor.type.get(), bits.data());
  }

  template <class Value>
  void write_remark(const char* name, const std::vector<Value>& values, const Shape& record, Value unset) {
    if (!values.empty() && static_cast<std::int64_t>(values.size()) != numel(record)) {
      throw Error::internal("{}: {} values for {}", file.file(), values.size(), name);
    }
    if (!values.empty() && series.find(name) == series.end()) add_series(name, native_type<Value>(), record, &unset);
    const auto place = series.find(name);
    if (place == series.end()) return;
    place->second.extend(rows + 1);  // a row without a value holds the fill value
    if (!values.empty()) place->second.write_record(rows, native_type<Value>(), values.data());
  }

  void write_remarks(const StepRemarks& remarks) {
    const auto parameters = static_cast<std::int64_t>(options.parameters.size());
    write_remark<float>(schema::loss_scale, remarks.loss_scale, {columns()}, 1);
    write_remark<double>(schema::loss, remarks.loss, {columns()}, std::numeric_limits<double>::quiet_NaN());
    std::vector<std::int32_t> accumulation;
    if (remarks.accumulation) accumulation.push_back(*remarks.accumulation);
    write_remark<std::int32_t>(schema::accumulation, accumulation, {}, 1);
    write_remark<std::uint8_t>(schema::present, remarks.present, {columns(), parameters}, 1);
  }

  template <class T>
  void append_step(std::int64_t step, std::span<const std::vector<const T*>> gradients, const StepRemarks& remarks) {
    if (step <= last_step || static_cast<std::int64_t>(gradients.size()) != columns()) {
      throw Error::internal("{}: step {} after {}, {} process ranks", file.file(), step, last_step, gradients.size());
    }
    for (std::size_t index = 0; index < tensors.size(); ++index) {
      tensors[index].dataset.extend(rows + 1);
      for (std::int64_t column = 0; column < columns(); ++column) {
        write_tensor(index, column, gradients[static_cast<std::size_t>(column)].at(index));
      }
    }
    write_remarks(remarks);
    if (options.durable) file.flush();
    GrowingDataset& steps = series.at(schema::steps);
    steps.extend(rows + 1);
    steps.write_record(rows, native_type<std::int64_t>(), &step);
    if (options.durable) file.flush();
    ++rows;
    last_step = step;
  }

  void close(bool complete) {
    if (!file) return;
    if (complete) {
      file.flush();  // the mark must not reach the disk before what it vouches for
      file.write_integer(schema::attribute::complete, 1);
    }
    tensors.clear();
    series.clear();
    file.close();
  }
};

Writer::Writer(const std::filesystem::path& path, WriterOptions options)
    : impl_(std::make_unique<Impl>(path, std::move(options))) {}

Writer::~Writer() = default;

template <class T>
void Writer::append_step(std::int64_t step, std::span<const std::vector<const T*>> gradients,
                         const StepRemarks& remarks) {
  impl_->attempt([&] { impl_->append_step(step, gradients, remarks); });
}

template void Writer::append_step(std::int64_t, std::span<const std::vector<const float*>>, const StepRemarks&);
template void Writer::append_step(std::int64_t, std::span<const std::vector<const double*>>, const StepRemarks&);

void Writer::close(bool complete) {
  impl_->attempt([&] { impl_->close(complete); });
}

}  // namespace psgd::dump
