#include "libpsgd/replay/sweep_checkpoint.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/dump/pending_file.hpp"
#include "libpsgd/replay/document.hpp"
#include "libpsgd/replay/sweep_archive.hpp"

namespace psgd::replay {
namespace {

namespace hdf5 = dump::hdf5;
using report::Json;

constexpr std::string_view format = "psgd-sweep-state";
constexpr std::int64_t format_version = 1;

template <class T>
using Kind = typename compress::MemoryView<T>::Kind;

template <class T>
std::string link_of(const compress::MemoryView<T>& view) {
  const char* kind = view.kind == Kind<T>::error ? "error" : view.kind == Kind<T>::p ? "p" : "q";
  return fmt::format("{}_{}_{}", kind, view.bucket, view.member);
}

/// Everything of a pass but its arrays: what was gathered, counters, hazards, times.
template <class Archive, class T>
void visit_pass(Archive& archive, SweepPass<T>& pass) {
  visit_all(archive, pass.steps(), pass.errors(), pass.wires());
  for (std::size_t i = 0; i < pass.engine().size(); ++i) {
    Configuration<T>& configuration = pass.engine().configuration(i);
    std::vector<StepSeconds> seconds = configuration.seconds_of_compressed_steps();
    std::vector<metrics::Hazard> hazards = configuration.hazards().entries();
    compress::CompressionStats stats = configuration.hook().compression_stats();
    visit_all(archive, seconds, hazards, stats);
    if (compress::PowerSGDState* const state = configuration.hook().state(); state != nullptr)
      visit_all(archive, state->iter, state->next_stats_report);
    if constexpr (Archive::reads) {
      configuration.restore_seconds(std::move(seconds));
      configuration.hazards().restore(std::move(hazards));
      configuration.hook().restore_counts(stats.numel_before, stats.numel_after);
    }
  }
  if (SpectrumWatch<T>* const watch = pass.watch(); watch != nullptr)
    visit_all(archive, watch->memory().directions, watch->memory().first_residuals);
}

template <class T>
std::vector<T> downloaded(SweepPass<T>& pass, const T* values, std::int64_t count) {
  std::vector<T> host(static_cast<std::size_t>(count));
  pass.backend().download(values, host);
  return host;
}

/// The sets of deviations, each with the place of the first configuration that uses it.
template <class T>
std::vector<std::pair<std::size_t, Deviations<T>*>> deviation_sets(Engine<T>& engine) {
  std::vector<std::pair<std::size_t, Deviations<T>*>> sets;
  std::set<const Deviations<T>*> seen;
  for (std::size_t i = 0; i < engine.size(); ++i) {
    Deviations<T>* const deviations = engine.configuration(i).deviations();
    if (deviations != nullptr && seen.insert(deviations).second) sets.emplace_back(i, deviations);
  }
  return sets;
}

template <class T>
void write_arrays(hdf5::File& file, SweepPass<T>& pass) {
  hdf5::Group memory = file.create_group("memory");
  hdf5::Group rng = file.create_group("rng");
  for (std::size_t i = 0; i < pass.engine().size(); ++i) {
    compress::Hook<T>& hook = pass.engine().configuration(i).hook();
    hdf5::Group group = memory.create_group(std::to_string(i));
    for (const compress::MemoryView<T>& view : hook.memory()) {
      const std::vector<T> host = downloaded(pass, view.data, view.count);
      group.write(link_of(view), std::span<const T>(host), {view.count});
    }
    if (hook.state() == nullptr) continue;
    const Mt19937::State& state = hook.state()->rng.state();
    rng.write(std::to_string(i), std::span<const std::uint32_t>(state.words),
              {static_cast<std::int64_t>(Mt19937::word_count)});
    rng.open_dataset(std::to_string(i)).write_integer("position", state.position);
  }
  hdf5::Group deviation = file.create_group("deviation");
  for (const auto& [place, set] : deviation_sets(pass.engine())) {
    if (!set->begun()) continue;
    hdf5::Group group = deviation.create_group(std::to_string(place));
    for (std::size_t position = 0; position < pass.layout().buckets.size(); ++position) {
      const Bucket& bucket = pass.layout().buckets[position];
      for (std::size_t rank = 0; rank < set->process_ranks(); ++rank) {
        const std::vector<T> host = downloaded(pass, set->value(position, rank), bucket.capacity);
        group.write(fmt::format("{}_{}", bucket.index, rank), std::span<const T>(host), {bucket.capacity});
      }
    }
  }
}

template <class T>
void read_into(const hdf5::Group& group, const std::string& link, SweepPass<T>& pass, T* values, std::int64_t count) {
  std::vector<T> host(static_cast<std::size_t>(count));
  group.read(link, std::span<T>(host), {count});
  pass.backend().upload(host, values);
}

template <class T>
void read_hook(const hdf5::Group& group, SweepPass<T>& pass, compress::Hook<T>& hook) {
  for (std::size_t position = 0; position < pass.layout().buckets.size(); ++position) {
    const std::int32_t bucket = pass.layout().buckets[position].index;
    hook.allocate_memory(position, group.has(fmt::format("error_{}_0", bucket)),
                         group.has(fmt::format("q_{}_0", bucket)));
  }
  for (const compress::MemoryView<T>& view : hook.memory())
    read_into(group, link_of(view), pass, view.data, view.count);
}

template <class T>
void read_arrays(const hdf5::File& file, SweepPass<T>& pass) {
  const hdf5::Group memory = file.open_group("memory");
  const hdf5::Group rng = file.open_group("rng");
  for (std::size_t i = 0; i < pass.engine().size(); ++i) {
    compress::Hook<T>& hook = pass.engine().configuration(i).hook();
    read_hook(memory.open_group(std::to_string(i)), pass, hook);
    if (hook.state() == nullptr) continue;
    Mt19937::State state;
    rng.read(std::to_string(i), std::span<std::uint32_t>(state.words),
             {static_cast<std::int64_t>(Mt19937::word_count)});
    state.position = static_cast<std::uint32_t>(rng.open_dataset(std::to_string(i)).read_integer("position"));
    hook.state()->rng.set_state(state);
  }
  const hdf5::Group deviation = file.open_group("deviation");
  for (const auto& [place, set] : deviation_sets(pass.engine())) {
    if (!deviation.has(std::to_string(place))) continue;
    const hdf5::Group group = deviation.open_group(std::to_string(place));
    set->begin();
    for (std::size_t position = 0; position < pass.layout().buckets.size(); ++position) {
      const Bucket& bucket = pass.layout().buckets[position];
      for (std::size_t rank = 0; rank < set->process_ranks(); ++rank)
        read_into(group, fmt::format("{}_{}", bucket.index, rank), pass, set->value(position, rank), bucket.capacity);
    }
  }
}

/// Writes the file under a temporary name and puts it in its place.
template <class WriteArrays>
void write_file(const std::filesystem::path& path, const std::vector<std::uint8_t>& results,
                WriteArrays write_arrays_into) {
  dump::PendingFile pending(path);
  hdf5::File file = hdf5::File::create(pending.path(), pending.target());
  file.write_string("format", format);
  file.write_integer("format_version", format_version);
  file.write("results", std::span<const std::uint8_t>(results), {static_cast<std::int64_t>(results.size())});
  write_arrays_into(file);
  file.close();
  pending.commit();
}

void check_identity(const std::string& file, const std::string& saved, const std::string& wanted) {
  if (saved == wanted) return;
  const Json before = Json::parse(saved, nullptr, false);
  const Json now = Json::parse(wanted);
  for (const auto& [key, value] : now.items()) {
    if (!before.is_object() || !before.contains(key) || before[key] != value)
      throw Error::input("{}: belongs to another sweep: {} differ; give the options it was begun with, or another file",
                         file, key);
  }
  throw Error::input("{}: belongs to another sweep; give another file", file);
}

Json file_identity(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto time = std::filesystem::last_write_time(path, ignored).time_since_epoch().count();
  return {std::filesystem::weakly_canonical(path).string(), std::filesystem::file_size(path, ignored), time};
}

}  // namespace

SweepCheckpoint::SweepCheckpoint(std::filesystem::path path, std::string identity)
    : path_(std::move(path)), identity_(std::move(identity)) {
  const dump::PendingFile writable(path_);  // so that a bad path shows before any work is done
}

bool SweepCheckpoint::load(SweepResult& result) {
  if (!std::filesystem::exists(path_)) return false;
  const hdf5::File file = hdf5::File::open(path_);
  if (!file.has_attribute("format") || file.read_string("format") != format)
    throw Error::input("{}: not the state of a sweep (attribute format is not \"{}\"); give another file",
                       path_.string(), format);
  if (file.read_integer("format_version") != format_version)
    throw Error::input("{}: the state of a sweep by another version of this program; begin anew with another file",
                       path_.string());
  const Shape extents = file.open_dataset("results").extents();
  if (extents.size() != 1) throw Error::input("{}: damaged; remove it and begin anew", path_.string());
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(extents[0]));
  file.read("results", std::span<std::uint8_t>(bytes), extents);
  ArchiveReader reader(path_.string(), bytes);
  std::string identity;
  visit(reader, identity);
  check_identity(path_.string(), identity, identity_);
  visit_all(reader, result, has_pass_);
  pass_bytes_.assign(bytes.end() - static_cast<std::ptrdiff_t>(reader.left()), bytes.end());
  return true;
}

template <class T>
void SweepCheckpoint::restore(SweepPass<T>& pass) {
  ArchiveReader reader(path_.string(), pass_bytes_);
  visit_pass(reader, pass);
  read_arrays(hdf5::File::open(path_), pass);
  has_pass_ = false;
  pass_bytes_.clear();
}

void SweepCheckpoint::save(SweepResult& result) {
  ArchiveWriter writer;
  bool has_pass = false;
  visit_all(writer, identity_, result, has_pass);
  write_file(path_, writer.content(), [](hdf5::File&) {});
}

template <class T>
void SweepCheckpoint::save(SweepResult& result, SweepPass<T>& pass) {
  ArchiveWriter writer;
  bool has_pass = true;
  visit_all(writer, identity_, result, has_pass);
  visit_pass(writer, pass);
  write_file(path_, writer.content(), [&](hdf5::File& file) { write_arrays(file, pass); });
}

std::string sweep_identity(const std::vector<ResolvedSpec>& resolved, const std::vector<Pass>& passes,
                           const SweepResult& result) {
  Json configurations = Json::array();
  for (const ResolvedSpec& one : resolved) {
    Json config = config_json(one);
    for (const char* key : {"threads", "memory_limit"}) config.erase(key);  // results do not depend on them
    configurations.push_back(std::move(config));
  }
  Json members = Json::array();
  for (const Pass& pass : passes) members.push_back(pass.members);
  Json files = Json::array();
  for (const std::filesystem::path& file : result.dump.files) files.push_back(file_identity(file));
  Json names = Json::array();
  for (const ReplayedParameter& parameter : result.parameters) names.push_back(parameter.name);
  Json steps = Json::array();
  for (const std::size_t index : passes.front().selection.step_indices) steps.push_back(result.dump.steps[index]);
  Json spectrum = nullptr;
  if (result.spectrum)
    spectrum = {result.spectrum->spec.every, result.spectrum->spec.values, result.spectrum->spec.exact_limit};
  return Json{{"files", std::move(files)},
              {"steps", std::move(steps)},
              {"process_ranks", result.process_ranks},
              {"parameters", std::move(names)},
              {"configurations", std::move(configurations)},
              {"passes", std::move(members)},
              {"analyses", std::move(spectrum)}}
      .dump();
}

template void SweepCheckpoint::restore(SweepPass<float>&);
template void SweepCheckpoint::restore(SweepPass<double>&);
template void SweepCheckpoint::save(SweepResult&, SweepPass<float>&);
template void SweepCheckpoint::save(SweepResult&, SweepPass<double>&);

}  // namespace psgd::replay
