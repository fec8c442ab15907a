#include "libpsgd/replay/state_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/hdf5_rows.hpp"
#include "libpsgd/dump/pending_file.hpp"

namespace psgd::replay {
namespace {

namespace hdf5 = dump::hdf5;

constexpr std::string_view format = "psgd-state";
constexpr std::int64_t major_version = 1;
constexpr std::int64_t minor_version = 1;

template <class T>
using Kind = typename compress::MemoryView<T>::Kind;

/// The value of an enumeration that is spelled so.
template <class Value, std::size_t kCount>
Value value_from(const std::string& file, std::string_view what, const std::string& name,
                 const std::array<Value, kCount>& known) {
  for (const Value value : known) {
    if (to_string(value) == name) return value;
  }
  throw Error::input("{}: unknown {} \"{}\" in a state file", file, what, name);
}

void check_parameters(const std::string& file, const StateHeader& header) {
  try {
    compress::validate(header.power_sgd);
  } catch (const Error& error) {
    throw Error::input("{}: not sound: {}", file, error.what());
  }
  if (header.power_sgd.min_compression_rate < 0 || header.power_sgd.orthogonalization_epsilon < 0) {
    throw Error::input("{}: not sound: min_compression_rate is {}, orthogonalization_epsilon {}", file,
                       header.power_sgd.min_compression_rate, header.power_sgd.orthogonalization_epsilon);
  }
  if (header.iter == std::numeric_limits<std::int64_t>::max())
    throw Error::input("{}: not sound: iter is {}", file, header.iter);
}

/// Applies `action` to every scalar that a state file keeps, so that reading and writing cannot drift apart.
template <class Header, class Action>
void for_each_scalar(Header& header, Action action) {
  action("matrix_approximation_rank", header.power_sgd.matrix_approximation_rank);
  action("start_powerSGD_iter", header.power_sgd.start_powerSGD_iter);
  action("min_compression_rate", header.power_sgd.min_compression_rate);
  action("use_error_feedback", header.power_sgd.use_error_feedback);
  action("warm_start", header.power_sgd.warm_start);
  action("orthogonalization_epsilon", header.power_sgd.orthogonalization_epsilon);
  action("random_seed", header.power_sgd.random_seed);
  action("compression_stats_logging_frequency", header.power_sgd.compression_stats_logging_frequency);
  action("batch_tensors_with_same_shape", header.power_sgd.batch_tensors_with_same_shape);
  action("iter", header.iter);
  action("total_numel_before_compression", header.total_numel_before_compression);
  action("total_numel_after_compression", header.total_numel_after_compression);
  action("next_stats_report", header.next_stats_report);
}

void read_scalar(const hdf5::Object& object, const char* name, double& value) { value = object.read_double(name); }
template <class Integer>
void read_scalar(const hdf5::Object& object, const char* name, Integer& value) {
  const std::int64_t number = object.read_integer(name);
  value = static_cast<Integer>(number);
  if (number < 0 || static_cast<std::int64_t>(value) != number) {
    throw Error::input("{}: not sound: {} is {}", object.file(), name, number);
  }
}

void write_scalar(hdf5::Object& object, const char* name, const double& value) { object.write_double(name, value); }
template <class Integer>
void write_scalar(hdf5::Object& object, const char* name, const Integer& value) {
  object.write_integer(name, static_cast<std::int64_t>(value));
}

StateHeader header_of(const ResolvedSpec& resolved, const Selection& selection, std::optional<std::int64_t> last_step,
                      const compress::PowerSGDState& state) {
  StateHeader header;
  header.hook = resolved.spec.hook;
  header.arithmetic = resolved.arithmetic;
  header.residual = resolved.spec.residual;
  header.dtype = resolved.dtype;
  header.world_size = std::ssize(selection.process_ranks);
  header.process_ranks = selection.process_ranks;
  header.power_sgd = state.options;
  header.iter = state.iter;
  header.total_numel_before_compression = state.total_numel_before_compression;
  header.total_numel_after_compression = state.total_numel_after_compression;
  header.next_stats_report = state.next_stats_report;
  header.last_step = last_step;
  return header;
}

void write_header(hdf5::File& file, const StateHeader& header) {
  file.write_string("format", format);
  file.write_integers("format_version", std::vector<std::int64_t>{major_version, minor_version});
  file.write_string("hook", header.hook);
  file.write_string("arithmetic", to_string(header.arithmetic));
  file.write_string("residual", to_string(header.residual));
  file.write_string("dtype", to_string(header.dtype));
  file.write_integer("world_size", header.world_size);
  for_each_scalar(header, [&](const char* name, const auto& value) { write_scalar(file, name, value); });
  file.write_integers("process_ranks", header.process_ranks);
  if (header.last_step) file.write_integer("last_step", *header.last_step);
}

template <class T>
void write_memory(hdf5::File& file, const ResolvedSpec& resolved, Configuration<T>& configuration) {
  hdf5::Group p_memory = file.create_group("p_memory");
  hdf5::Group q_memory = file.create_group("q_memory");
  const bool fused = resolved.arithmetic == Arithmetic::fused;
  hdf5::Group errors = file.create_group(fused ? "mean_error" : "error");
  std::map<std::int32_t, std::vector<const T*>> error_rows;
  std::map<std::int32_t, std::int64_t> lengths;
  for (const compress::MemoryView<T>& view : configuration.hook().memory()) {
    const std::string bucket = std::to_string(view.bucket);
    const std::span<const T> values(view.data, static_cast<std::size_t>(view.count));
    if (view.kind == Kind<T>::p) {
      p_memory.write(bucket, values, {view.count});
    } else if (view.kind == Kind<T>::q) {
      q_memory.write(bucket, values, {view.count});
    } else if (fused) {
      errors.write(bucket, values, {view.count});
    } else {
      error_rows[view.bucket].push_back(view.data);
      lengths[view.bucket] = view.count;
    }
  }
  for (const auto& [bucket, rows] : error_rows)
    hdf5::write_rows<T>(errors, std::to_string(bucket), rows, lengths[bucket]);
}

template <class T>
void write_deviations(hdf5::File& file, const Selection& selection, Configuration<T>& configuration) {
  hdf5::Group group = file.create_group("deviation");
  const bool kept = configuration.deviations() != nullptr && configuration.deviations()->begun();
  for (std::size_t position = 0; position < selection.layout.buckets.size(); ++position) {
    const Bucket& bucket = selection.layout.buckets[position];
    if (configuration.hook().error_memory(position, 0) == nullptr) continue;
    std::vector<const T*> rows;
    std::vector<T> zeros;
    if (!kept) zeros.resize(static_cast<std::size_t>(bucket.capacity));
    for (std::size_t rank = 0; rank < selection.process_ranks.size(); ++rank) {
      rows.push_back(kept ? configuration.deviations()->value(position, rank) : zeros.data());
    }
    hdf5::write_rows<T>(group, std::to_string(bucket.index), rows, bucket.capacity);
  }
}

/// Memory that comes in two parts is of no use without one of them.
void require_both(const hdf5::Group& first, const hdf5::Group& second) {
  for (const auto& [there, other] : {std::pair(&first, &second), std::pair(&second, &first)}) {
    for (const std::string& link : there->links()) {
      if (!other->has(link)) {
        throw Error::input("{}: not sound: it has {}/{} and no {}/{}", there->file(), there->path(), link,
                           other->path(), link);
      }
    }
  }
}

/// Names of the buckets a group holds, as numbers.
std::vector<std::int32_t> buckets_in(const hdf5::Group& group) {
  std::vector<std::int32_t> buckets;
  for (const std::string& link : group.links()) {
    try {
      buckets.push_back(std::stoi(link));
    } catch (const std::exception&) {
      throw Error::input("{}: {}/{} is not named after a bucket", group.file(), group.path(), link);
    }
  }
  return buckets;
}

void check_buckets(const hdf5::Group& group, const GradientLayout& layout) {
  for (const std::int32_t index : buckets_in(group)) {
    const bool known = std::any_of(layout.buckets.begin(), layout.buckets.end(),
                                   [&](const Bucket& bucket) { return bucket.index == index; });
    if (!known) {
      throw Error::input("{}: buckets differ: the state holds {}/{}, and this replay has no bucket {}", group.file(),
                         group.path(), index, index);
    }
  }
}

template <class T>
void read_memory(const hdf5::File& file, bool fused, const GradientLayout& layout, Configuration<T>& configuration) {
  const hdf5::Group p_memory = file.open_group("p_memory");
  const hdf5::Group q_memory = file.open_group("q_memory");
  const hdf5::Group errors = file.open_group(fused ? "mean_error" : "error");
  for (const hdf5::Group* group : {&p_memory, &q_memory, &errors}) check_buckets(*group, layout);
  require_both(p_memory, q_memory);
  if (fused) require_both(errors, file.open_group("deviation"));
  for (std::size_t position = 0; position < layout.buckets.size(); ++position) {
    const std::string bucket = std::to_string(layout.buckets[position].index);
    configuration.hook().allocate_memory(position, errors.has(bucket), q_memory.has(bucket));
  }
  std::map<std::int32_t, std::vector<T*>> error_rows;
  std::map<std::int32_t, std::int64_t> lengths;
  for (const compress::MemoryView<T>& view : configuration.hook().memory()) {
    const std::string bucket = std::to_string(view.bucket);
    const std::span<T> values(view.data, static_cast<std::size_t>(view.count));
    if (view.kind == Kind<T>::p) {
      p_memory.read(bucket, values, {view.count});
    } else if (view.kind == Kind<T>::q) {
      q_memory.read(bucket, values, {view.count});
    } else if (fused) {
      errors.read(bucket, values, {view.count});
    } else {
      error_rows[view.bucket].push_back(view.data);
      lengths[view.bucket] = view.count;
    }
  }
  for (const auto& [bucket, rows] : error_rows)
    hdf5::read_rows<T>(errors, std::to_string(bucket), rows, lengths[bucket]);
}

template <class T>
void read_deviations(const hdf5::File& file, const GradientLayout& layout, std::size_t world_size,
                     Configuration<T>& configuration) {
  const hdf5::Group group = file.open_group("deviation");
  check_buckets(group, layout);
  if (buckets_in(group).empty() || configuration.deviations() == nullptr) return;
  configuration.deviations()->begin();
  for (std::size_t position = 0; position < layout.buckets.size(); ++position) {
    std::vector<T*> rows;
    for (std::size_t rank = 0; rank < world_size; ++rank)
      rows.push_back(configuration.deviations()->value(position, rank));
    hdf5::read_rows<T>(group, std::to_string(layout.buckets[position].index), rows, layout.buckets[position].capacity);
  }
}

Mt19937::State read_rng(const hdf5::File& file) {
  Mt19937::State state;
  file.read("rng", std::span<std::uint32_t>(state.words), {static_cast<std::int64_t>(Mt19937::word_count)});
  const std::int64_t position = file.open_dataset("rng").read_integer("position");
  if (position < 0 || position > static_cast<std::int64_t>(Mt19937::word_count)) {
    throw Error::input("{}: not sound: the position in /rng is {}", file.file(), position);
  }
  state.position = static_cast<std::uint32_t>(position);
  return state;
}

}  // namespace

StateHeader read_state_header(const std::filesystem::path& path) {
  const hdf5::File file = hdf5::File::open(path);
  if (!file.has_attribute("format") || file.read_string("format") != format) {
    throw Error::input("{}: not a state file of psgd (attribute format is not \"{}\")", path.string(), format);
  }
  const std::vector<std::int64_t> version = file.read_integers("format_version");
  if (version.empty() || version.front() != major_version) {
    throw Error::input("{}: a state file of another version than {}.x; write it again with this program", path.string(),
                       major_version);
  }
  StateHeader header;
  header.hook = file.read_string("hook");
  const auto read_value = [&](const char* what, const auto& known) {
    return value_from(path.string(), what, file.read_string(what), known);
  };
  header.arithmetic = read_value("arithmetic", std::array{Arithmetic::fused, Arithmetic::per_rank});
  header.residual = read_value("residual", std::array{compress::Residual::averaged, compress::Residual::local});
  header.dtype = read_value("dtype", std::array{DType::float32, DType::float64});
  header.world_size = file.read_integer("world_size");
  for_each_scalar(header, [&](const char* name, auto& value) { read_scalar(file, name, value); });
  check_parameters(path.string(), header);
  if (file.has_attribute("process_ranks")) header.process_ranks = file.read_integers("process_ranks");
  if (file.has_attribute("last_step")) header.last_step = file.read_integer("last_step");
  return header;
}

template <class T>
void restore_state(const std::filesystem::path& path, const StateHeader& header, const GradientLayout& layout,
                   Configuration<T>& configuration) {
  const hdf5::File file = hdf5::File::open(path);
  compress::PowerSGDState& state = *configuration.hook().state();
  state.iter = header.iter;
  state.total_numel_before_compression = header.total_numel_before_compression;
  state.total_numel_after_compression = header.total_numel_after_compression;
  state.next_stats_report = header.next_stats_report;
  state.rng.set_state(read_rng(file));
  const bool fused = header.arithmetic == Arithmetic::fused;
  try {
    read_memory(file, fused, layout, configuration);
    if (fused) read_deviations(file, layout, static_cast<std::size_t>(header.world_size), configuration);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    throw Error::input("{} (does the state belong to this dump, --parameters and --exclude?)", error.what());
  }
}

template <class T>
void save_state(dump::PendingFile& pending, const ResolvedSpec& resolved, const Selection& selection,
                std::optional<std::int64_t> last_step, Configuration<T>& configuration) {
  hdf5::File file = hdf5::File::create(pending.path(), pending.target());
  const compress::PowerSGDState& state = *configuration.hook().state();
  write_header(file, header_of(resolved, selection, last_step, state));
  file.write("rng", std::span<const std::uint32_t>(state.rng.state().words),
             {static_cast<std::int64_t>(Mt19937::word_count)});
  file.open_dataset("rng").write_integer("position", state.rng.state().position);
  write_memory(file, resolved, configuration);
  if (resolved.arithmetic == Arithmetic::fused) write_deviations(file, selection, configuration);
  file.close();
  pending.commit();
}

#define PSGD_INSTANTIATE(T)                                                                                        \
  template void restore_state(const std::filesystem::path&, const StateHeader&, const GradientLayout&,             \
                              Configuration<T>&);                                                                  \
  template void save_state(dump::PendingFile&, const ResolvedSpec&, const Selection&, std::optional<std::int64_t>, \
                           Configuration<T>&);
PSGD_INSTANTIATE(float)
PSGD_INSTANTIATE(double)
#undef PSGD_INSTANTIATE

}  // namespace psgd::replay
