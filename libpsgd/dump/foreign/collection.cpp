#include "libpsgd/dump/foreign/collection.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump::foreign {
namespace {

constexpr std::array<std::string_view, 9> usual_patterns{"step_{step}/rank_{rank}/{name}",
                                                         "step{step}/rank{rank}/{name}",
                                                         "{step}/{rank}/{name}",
                                                         "rank_{rank}/step_{step}/{name}",
                                                         "step_{step}/{name}",
                                                         "step{step}/{name}",
                                                         "{step}/{name}",
                                                         "rank_{rank}/{name}",
                                                         "{name}"};

constexpr std::int64_t largest_world = std::int64_t{1} << 16;
constexpr std::size_t none = static_cast<std::size_t>(-1);

std::optional<std::int64_t> number_behind(const std::string& name, const char* word) {
  const std::regex expression(std::string(word) + "[_.-]?([0-9]{1,18})", std::regex::icase);
  std::smatch found;
  if (!std::regex_search(name, found, expression)) return std::nullopt;
  return std::stoll(found[1]);
}

}  // namespace

std::span<const std::string_view> key_patterns() { return usual_patterns; }

Collection::Collection(const std::vector<std::filesystem::path>& files, const CollectionOptions& options)
    : paths_(files) {
  for (const std::filesystem::path& path : files) {
    files_.push_back(open(path));
    if (files_.back()->tensors().empty())
      throw Error::input("{}: holds no arrays of floating-point numbers", path.string());
  }
  check_file_names(options);
  const KeyPattern pattern = choose_pattern(options);
  pattern_ = pattern.text();
  const std::vector<Entry> entries = list_entries(pattern, options);
  set_extents(entries);
  name_parameters(entries, options);
  place(entries);
}

std::string Collection::describe(const Entry& entry) const {
  return fmt::format("{}: {}", paths_[entry.file].string(),
                     make_printable(files_[entry.file]->tensors()[entry.tensor].key));
}

std::optional<KeyParts> Collection::read_file_name(std::size_t file, const CollectionOptions& options) const {
  const std::string name = paths_[file].filename().string();
  if (options.file_pattern) return options.file_pattern->match(name);
  KeyParts parts;
  parts.step = number_behind(name, "step");
  parts.rank = number_behind(name, "rank");
  return parts;
}

void Collection::check_file_names(const CollectionOptions& options) const {
  for (std::size_t file = 0; file < files_.size(); ++file) {
    if (read_file_name(file, options)) continue;
    throw Error::input("{}: its name is not of the pattern \"{}\"", paths_[file].string(),
                       options.file_pattern->text());
  }
}

/// Whether every key is of the pattern and every array gets a step and a name.
bool Collection::tells_all(const KeyPattern& pattern, const CollectionOptions& options) const {
  for (std::size_t file = 0; file < files_.size(); ++file) {
    const auto from_name = read_file_name(file, options);
    if (!pattern.has_name() && from_name->name.empty()) return false;
    if (!pattern.has_step() && !from_name->step) return false;
    for (const Tensor& tensor : files_[file]->tensors()) {
      if (!pattern.match(tensor.key)) return false;
    }
  }
  return true;
}

KeyPattern Collection::choose_pattern(const CollectionOptions& options) const {
  if (options.key_pattern) return *options.key_pattern;
  for (const std::string_view text : usual_patterns) {
    KeyPattern pattern{std::string(text)};
    if (tells_all(pattern, options)) return pattern;
  }
  throw Error::usage(
      "{}: nothing tells the step of \"{}\"; say how keys or file names are made, for instance --key-pattern "
      "'{{step}}/{{name}}' or --file-pattern 'grads_{{step}}.npz'",
      paths_.front().string(), make_printable(files_.front()->tensors().front().key));
}

std::vector<Collection::Entry> Collection::list_entries(const KeyPattern& pattern,
                                                        const CollectionOptions& options) const {
  std::vector<Entry> entries;
  for (std::size_t file = 0; file < files_.size(); ++file) {
    const auto from_name = read_file_name(file, options);
    for (std::size_t tensor = 0; tensor < files_[file]->tensors().size(); ++tensor) {
      Entry entry{file, tensor, {}};
      const auto from_key = pattern.match(files_[file]->tensors()[tensor].key);
      if (!from_key) throw Error::input("{}: not of the pattern \"{}\"", describe(entry), pattern.text());
      entry.parts = *from_key;
      if (!entry.parts.step) entry.parts.step = from_name->step;
      if (!entry.parts.rank) entry.parts.rank = from_name->rank.value_or(0);
      if (entry.parts.name.empty()) entry.parts.name = from_name->name;
      if (!entry.parts.step || entry.parts.name.empty()) {
        throw Error::usage("{}: nothing tells its {}; give --key-pattern or --file-pattern", describe(entry),
                           entry.parts.step ? "name" : "step");
      }
      if (options.slashes_to_dots) std::replace(entry.parts.name.begin(), entry.parts.name.end(), '/', '.');
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

void Collection::set_extents(const std::vector<Entry>& entries) {
  std::set<std::int64_t> steps;
  std::set<std::int64_t> ranks;
  for (const Entry& entry : entries) {
    steps.insert(*entry.parts.step);
    ranks.insert(*entry.parts.rank);
  }
  steps_.assign(steps.begin(), steps.end());
  world_size_ = *ranks.rbegin() + 1;
  if (world_size_ > largest_world || static_cast<std::size_t>(world_size_) != ranks.size()) {
    throw Error::input("{}: process ranks up to {} are named, {} of them are there; every one from 0 on has to be",
                       paths_.front().string(), *ranks.rbegin(), ranks.size());
  }
}

void Collection::name_parameters(const std::vector<Entry>& entries, const CollectionOptions& options) {
  std::map<std::string, std::size_t> known;
  const auto add = [&](const Entry& entry) {
    const Tensor& tensor = files_[entry.file]->tensors()[entry.tensor];
    Parameter parameter;
    parameter.name = entry.parts.name;
    parameter.shape = tensor.shape;
    parameter.dtype = tensor.stored.dtype;
    parameters_.push_back(std::move(parameter));
  };
  for (const Entry& entry : entries) {
    if (known.emplace(entry.parts.name, known.size()).second) add(entry);
  }
  if (options.order.empty()) return;
  std::vector<Parameter> ordered;
  for (const std::string& name : options.order) {
    const auto found = known.find(name);
    if (found == known.end())
      throw Error::input("\"{}\" is in the order given, and no file has it", make_printable(name));
    ordered.push_back(parameters_[found->second]);
  }
  if (ordered.size() != parameters_.size()) {
    for (const Parameter& parameter : parameters_) {
      if (std::find(options.order.begin(), options.order.end(), parameter.name) != options.order.end()) continue;
      throw Error::input("\"{}\" is not in the order given", make_printable(parameter.name));
    }
    throw Error::input("a name stands twice in the order given");
  }
  parameters_ = std::move(ordered);
}

std::size_t Collection::slot(std::size_t step, std::int64_t rank, std::size_t parameter) const {
  return (step * static_cast<std::size_t>(world_size_) + static_cast<std::size_t>(rank)) * parameters_.size() +
         parameter;
}

void Collection::place(const std::vector<Entry>& entries) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < parameters_.size(); ++i) index.emplace(parameters_[i].name, i);
  entries_.assign(slot(steps_.size(), 0, 0), Entry{none, 0, {}});
  for (const Entry& entry : entries) {
    const auto step =
        static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), *entry.parts.step) - steps_.begin());
    const std::size_t parameter = index.at(entry.parts.name);
    Entry& here = entries_[slot(step, *entry.parts.rank, parameter)];
    if (here.file != none) throw Error::input("{}: the same gradient as {}", describe(entry), describe(here));
    const Tensor& tensor = files_[entry.file]->tensors()[entry.tensor];
    if (tensor.shape != parameters_[parameter].shape || tensor.stored.dtype != parameters_[parameter].dtype) {
      throw Error::input("{}: {} of {} where another record of \"{}\" has {} of {}", describe(entry),
                         to_string(tensor.stored.dtype), to_string(tensor.shape), make_printable(entry.parts.name),
                         to_string(parameters_[parameter].dtype), to_string(parameters_[parameter].shape));
    }
    here = entry;
  }
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    for (std::int64_t rank = 0; rank < world_size_; ++rank) {
      for (std::size_t parameter = 0; parameter < parameters_.size(); ++parameter) {
        if (entries_[slot(step, rank, parameter)].file != none) continue;
        throw Error::input("{}: there is no \"{}\" of step {}, process rank {}", paths_.front().string(),
                           make_printable(parameters_[parameter].name), steps_[step], rank);
      }
    }
  }
}

template <class T>
void Collection::read(std::size_t step_index, std::int64_t process_rank, std::size_t parameter,
                      std::vector<T>& values) {
  const Entry& entry = entries_[slot(step_index, process_rank, parameter)];
  const Tensor& tensor = files_[entry.file]->tensors()[entry.tensor];
  stored_.resize(tensor.bytes());
  files_[entry.file]->read(entry.tensor, stored_);
  values.resize(static_cast<std::size_t>(tensor.numel));
  convert(tensor.stored, stored_.data(), values.size(), values.data());
}

template void Collection::read(std::size_t, std::int64_t, std::size_t, std::vector<float>&);
template void Collection::read(std::size_t, std::int64_t, std::size_t, std::vector<double>&);

}  // namespace psgd::dump::foreign
