#include "libpsgd/dump/averaged_writer.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/growing_dataset.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/dump/memory_order.hpp"
#include "libpsgd/dump/pending_file.hpp"
#include "libpsgd/dump/schema.hpp"

namespace psgd::dump {
namespace {

// Elements that are brought back to logical order at a time.
constexpr std::int64_t piece_elements = std::int64_t{1} << 16;

}  // namespace

template <class T>
struct AveragedWriter<T>::Impl {
  struct Tensor {
    TensorSlot slot;
    Shape shape;
    MemoryOrder order;
    GrowingDataset dataset;
  };

  PendingFile pending;
  hdf5::File file;
  GradientLayout layout;
  std::vector<Tensor> tensors;
  std::optional<GrowingDataset> steps;
  std::int64_t rows = 0;
  bool finished = false;

  Impl(const std::filesystem::path& target, std::span<const Parameter> parameters, GradientLayout placed)
      : pending(target), file(hdf5::File::create(pending.path(), pending.target())), layout(std::move(placed)) {
    file.write_string(schema::attribute::format, schema::averaged_format);
    file.write_integers(schema::attribute::format_version,
                        std::vector<std::int64_t>{schema::major_version, schema::minor_version});
    file.write_integer(schema::attribute::complete, 0);
    steps.emplace(file, schema::steps, DatasetForm::series(hdf5::native_type<std::int64_t>()));
    hdf5::Group averaged = file.create_group(schema::averaged);
    // In the model's order, which is how a reader lists them.
    std::vector<TensorSlot> slots;
    for (const Bucket& bucket : layout.buckets) slots.insert(slots.end(), bucket.tensors.begin(), bucket.tensors.end());
    std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.parameter < b.parameter; });
    for (const TensorSlot& slot : slots) add_tensor(averaged, parameters[slot.parameter], slot, slots.size());
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { file.discard(); }  // closed already when finished

  void add_tensor(hdf5::Group& averaged, const Parameter& parameter, const TensorSlot& slot, std::size_t count) {
    DatasetForm form;
    form.type = hdf5::native_type<T>();
    form.record = parameter.shape;
    form.chunk = schema::chunk_extents(parameter.shape, sizeof(T), false, shared_chunk_bytes(count));
    form.chunk.erase(form.chunk.begin() + 1);  // no axis of process ranks
    GrowingDataset dataset(averaged, schema::link_name(parameter.name), form);
    dataset.object().write_string(schema::attribute::name, parameter.name);
    dataset.object().write_string(schema::attribute::memory_format, to_string(parameter.memory_format));
    tensors.push_back(
        {slot, parameter.shape, memory_order(parameter.shape, parameter.memory_format), std::move(dataset)});
  }

  void append(std::int64_t step, std::span<const T> averaged) {
    if (finished || static_cast<std::int64_t>(averaged.size()) < layout.extent) {
      throw Error::internal("{}: append after finish, or too few values", pending.target().string());
    }
    for (Tensor& tensor : tensors) {
      const T* values = averaged.data() + tensor.slot.begin;
      tensor.dataset.extend(rows + 1);
      if (tensor.order.is_logical()) {
        tensor.dataset.write_record(rows, hdf5::native_type<T>(), values);
      } else {
        write_logical(tensor, values);
      }
    }
    steps->extend(rows + 1);
    steps->write_record(rows, hdf5::native_type<std::int64_t>(), &step);
    // A full disk shows here, at the step that no longer fits, rather than when all work is done.
    file.flush();
    ++rows;
  }

  // Along the first axis, so that the copy in logical order stays small.
  void write_logical(Tensor& tensor, const T* values) {
    const std::int64_t count = tensor.slot.numel;
    if (count == 0) return;
    const std::int64_t row_elements = count / tensor.shape[0];
    const std::int64_t at_a_time = std::max<std::int64_t>(1, piece_elements / row_elements);
    std::vector<T> logical;
    for (std::int64_t row = 0; row < tensor.shape[0]; row += at_a_time) {
      const std::int64_t part = std::min(at_a_time, tensor.shape[0] - row);
      logical.resize(static_cast<std::size_t>(part * row_elements));
      take_from_memory_order(tensor.order, values, row * row_elements, part * row_elements, logical.data());
      tensor.dataset.write_part(rows, {row}, {row + part}, hdf5::native_type<T>(), logical.data());
    }
  }

  void finish(bool complete) {
    if (finished) throw Error::internal("{}: finished twice", pending.target().string());
    file.write_integer(schema::attribute::complete, complete ? 1 : 0);
    finished = true;
    tensors.clear();
    steps.reset();
    file.close();
    pending.commit();
  }
};

template <class T>
AveragedWriter<T>::AveragedWriter(const std::filesystem::path& target, std::span<const Parameter> parameters,
                                  GradientLayout layout)
    : impl_(std::make_unique<Impl>(target, parameters, std::move(layout))) {}

template <class T>
AveragedWriter<T>::~AveragedWriter() = default;

template <class T>
void AveragedWriter<T>::append(std::int64_t step, std::span<const T> averaged) {
  impl_->append(step, averaged);
}

template <class T>
void AveragedWriter<T>::finish(bool complete) {
  impl_->finish(complete);
}

template class AveragedWriter<float>;
template class AveragedWriter<double>;

}  // namespace psgd::dump
