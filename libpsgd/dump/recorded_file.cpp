#include "libpsgd/dump/recorded_file.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/parameter_table.hpp"
#include "libpsgd/dump/schema.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump {
namespace {

constexpr std::int64_t largest_world = std::int64_t{1} << 24;
// The most that deflate can shrink anything.
constexpr double largest_deflation = 1032;

void check_format(RecordedFile& recorded) {
  const hdf5::File& file = recorded.file;
  if (!file.has_attribute(schema::attribute::format)) {
    throw Error::input("{}: an HDF5 file, but not a gradient dump: the attribute \"format\" is missing", file.file());
  }
  const std::string format = file.read_string(schema::attribute::format);
  if (format != schema::format) {
    throw Error::input("{}: its format is \"{}\" where \"{}\" is expected", file.file(), make_printable(format),
                       schema::format);
  }
  const std::vector<std::int64_t> version = file.read_integers(schema::attribute::format_version);
  if (version.size() != 2) throw Error::input("{}: format_version should be two numbers", file.file());
  if (version[0] > schema::major_version) {
    throw Error::input("{}: written in layout {}.{}, which is newer than this program (layout {}); update psgd",
                       file.file(), version[0], version[1], schema::major_version);
  }
  if (version[0] != schema::major_version || version[1] < 0) {
    throw Error::input("{}: there is no layout {}.{}", file.file(), version[0], version[1]);
  }
  recorded.minor_version = version[1];
}

GradKind read_grad_kind(const hdf5::File& file) {
  const std::string kind = file.read_string(schema::attribute::grad_kind);
  for (const GradKind known : {GradKind::local, GradKind::averaged}) {
    if (kind == to_string(known)) return known;
  }
  throw Error::input("{}: grad_kind is \"{}\"; known are local and averaged", file.file(), make_printable(kind));
}

void read_ranks(RecordedFile& recorded) {
  const hdf5::File& file = recorded.file;
  recorded.world_size = file.read_integer(schema::attribute::world_size);
  if (recorded.world_size < 1 || recorded.world_size > largest_world) {
    throw Error::input("{}: world_size is {}", file.file(), recorded.world_size);
  }
  recorded.process_ranks = file.read_integers(schema::attribute::ranks);
  if (recorded.process_ranks.empty()) throw Error::input("{}: the attribute \"ranks\" lists none", file.file());
  std::unordered_set<std::int64_t> seen;
  for (const std::int64_t rank : recorded.process_ranks) {
    if (rank < 0 || rank >= recorded.world_size) {
      throw Error::input("{}: process rank {} in a world of {}", file.file(), rank, recorded.world_size);
    }
    if (!seen.insert(rank).second) throw Error::input("{}: process rank {} is listed twice", file.file(), rank);
  }
}

std::string read_remark(const hdf5::File& file, const char* name) {
  return file.has_attribute(name) ? make_printable(file.read_string(name)) : std::string();
}

void read_header(RecordedFile& recorded) {
  check_format(recorded);
  read_ranks(recorded);
  const hdf5::File& file = recorded.file;
  recorded.grad_kind = read_grad_kind(file);
  recorded.complete = file.read_integer(schema::attribute::complete) != 0;
  recorded.framework = read_remark(file, schema::attribute::framework);
  recorded.framework_version = read_remark(file, schema::attribute::framework_version);
  recorded.model = read_remark(file, schema::attribute::model);
  recorded.writer = read_remark(file, schema::attribute::writer);
}

/// Finds the link of a parameter: the escaped name, or else, where another writer escaped differently, the one link
/// whose attribute says that name.
class LinkFinder {
 public:
  LinkFinder(const hdf5::Group& gradients, const std::vector<Parameter>& parameters)
      : gradients_(gradients), parameters_(parameters) {}

  std::string find(const std::string& name) {
    std::string link = schema::link_name(name);
    if (gradients_.has(link)) return link;
    if (!listed_) list_others();
    if (const auto other = others_.find(name); other != others_.end()) return other->second;
    throw Error::input("{}: {}/{} is missing: there are no gradients of the parameter \"{}\"", gradients_.file(),
                       gradients_.path(), link, name);
  }

 private:
  void list_others() {
    listed_ = true;
    std::set<std::string> expected;
    for (const Parameter& parameter : parameters_) expected.insert(schema::link_name(parameter.name));
    for (const std::string& link : gradients_.links()) {
      if (expected.contains(link)) continue;
      const hdf5::Dataset dataset = gradients_.open_dataset(link);
      if (dataset.has_attribute(schema::attribute::name)) {
        others_.emplace(dataset.read_string(schema::attribute::name), link);
      }
    }
  }

  const hdf5::Group& gradients_;
  const std::vector<Parameter>& parameters_;
  bool listed_ = false;
  std::map<std::string, std::string> others_;
};

std::vector<std::string> find_unlisted(const hdf5::Group& gradients, const std::vector<GradientDataset>& datasets) {
  std::unordered_set<std::string> listed;
  for (const GradientDataset& dataset : datasets) listed.insert(dataset.link);
  std::vector<std::string> unlisted = gradients.links();
  std::erase_if(unlisted, [&](const std::string& link) { return listed.contains(link); });
  return unlisted;
}

// A few bytes of metadata can claim any extents. What a single step takes has to be there at least.
void check_plausible_size(const RecordedFile& recorded) {
  double stored = 0;
  for (const GradientDataset& dataset : recorded.datasets) {
    const bool shrinks = dataset.is_filtered();
    stored += static_cast<double>(dataset.numel) * static_cast<double>(dataset.storage.element_size) /
              (shrinks ? largest_deflation : 1.0);
  }
  const auto size = static_cast<double>(recorded.bytes);
  if (stored > size) {
    throw Error::input(
        "{}: its extents claim at least {:.3g} bytes a step and process rank where the whole file has {:.0f}",
        recorded.path.string(), stored, size);
  }
}

}  // namespace

RecordedFile open_recorded_file(const std::filesystem::path& path, bool allow_plugins, std::size_t metadata_bytes) {
  RecordedFile recorded;
  recorded.path = path;
  recorded.file = hdf5::File::open(path, metadata_bytes);
  recorded.bytes = recorded.file.size();
  read_header(recorded);
  std::vector<std::int64_t> steps = read_steps(recorded.file);
  recorded.parameters = read_parameter_table(recorded.file);
  recorded.gradients = recorded.file.open_group(schema::gradients);
  const auto process_ranks = static_cast<std::int64_t>(recorded.process_ranks.size());
  const RecordExtents extents{static_cast<std::int64_t>(steps.size()), process_ranks};
  const hdf5::Handle access = chunk_cache(recorded.file.place(), 0);
  LinkFinder links(recorded.gradients, recorded.parameters);
  recorded.datasets.reserve(recorded.parameters.size());
  for (Parameter& parameter : recorded.parameters) {
    recorded.datasets.push_back(describe_gradients(recorded.gradients, links.find(parameter.name), access.get(),
                                                   extents, allow_plugins, parameter));
  }
  recorded.unlisted = find_unlisted(recorded.gradients, recorded.datasets);
  check_plausible_size(recorded);
  recorded.buckets_recorded = settle_buckets(recorded.file.file(), recorded.parameters);
  recorded.series = read_series(recorded.file, std::move(steps), process_ranks,
                                static_cast<std::int64_t>(recorded.parameters.size()));
  return recorded;
}

}  // namespace psgd::dump
