#include "libpsgd/dump/merge.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/schema.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump {
namespace {

// One difference between a file and the first, and then no more is looked at.
template <class Value>
void require_equal(const RecordedFile& first, const RecordedFile& other, std::string_view what, const Value& expected,
                   const Value& found) {
  if (expected == found) return;
  throw Error::input("{}: {} is {} where {} has {}; the files are not parts of one recording", other.path.string(),
                     what, found, first.path.string(), expected);
}

void require_same_parameter(const RecordedFile& first, const RecordedFile& other, std::size_t index) {
  const Parameter& a = first.parameters[index];
  const Parameter& b = other.parameters[index];
  require_equal(first, other, fmt::format("the name of parameter {}", index), fmt::format("\"{}\"", a.name),
                fmt::format("\"{}\"", b.name));
  const auto of = [&](std::string_view what) { return fmt::format("the {} of \"{}\"", what, b.name); };
  require_equal(first, other, of("shape"), to_string(a.shape), to_string(b.shape));
  require_equal(first, other, of("logical_dtype"), to_string(a.dtype), to_string(b.dtype));
  require_equal(first, other, of("memory_format"), to_string(a.memory_format), to_string(b.memory_format));
}

void require_same_place(const RecordedFile& first, const RecordedFile& other, std::size_t index) {
  const Parameter& a = first.parameters[index];
  const Parameter& b = other.parameters[index];
  require_equal(first, other, fmt::format("the bucket of \"{}\"", b.name), a.bucket, b.bucket);
  require_equal(first, other, fmt::format("the offset of \"{}\"", b.name), a.offset, b.offset);
}

void require_same_recording(const RecordedFile& first, const RecordedFile& other) {
  require_equal(first, other, "world_size", first.world_size, other.world_size);
  require_equal(first, other, "grad_kind", to_string(first.grad_kind), to_string(other.grad_kind));
  require_equal(first, other, "the number of parameters", first.parameters.size(), other.parameters.size());
  for (std::size_t i = 0; i < first.parameters.size(); ++i) require_same_parameter(first, other, i);
  const auto recorded = [](bool buckets) { return buckets ? "recorded" : "not recorded"; };
  require_equal<std::string_view>(first, other, "the bucket layout", recorded(first.buckets_recorded),
                                  recorded(other.buckets_recorded));
  for (std::size_t i = 0; i < first.parameters.size(); ++i) require_same_place(first, other, i);
}

void merge_process_ranks(std::span<const RecordedFile> files, Merged& merged) {
  std::map<std::int64_t, Merged::Column> columns;
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (std::size_t column = 0; column < files[file].process_ranks.size(); ++column) {
      const std::int64_t rank = files[file].process_ranks[column];
      const auto [place, fresh] = columns.try_emplace(rank, Merged::Column{file, static_cast<std::int64_t>(column)});
      if (!fresh) {
        throw Error::input("{}: holds process rank {}, as {} does; give each file once", files[file].path.string(),
                           rank, files[place->second.file].path.string());
      }
    }
  }
  for (const auto& [rank, column] : columns) {
    merged.description.process_ranks.push_back(rank);
    merged.columns.push_back(column);
  }
}

std::string list_steps(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t most_listed = 5;
  const std::size_t listed = std::min(steps.size(), most_listed);
  return fmt::format("{}{}", fmt::join(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
                     steps.size() > listed ? ", …" : "");
}

void merge_steps(std::span<const RecordedFile> files, Merged& merged) {
  Description& description = merged.description;
  description.steps = files.front().series.steps;
  for (const RecordedFile& file : files.subspan(1)) {
    std::vector<std::int64_t> common;
    std::set_intersection(description.steps.begin(), description.steps.end(), file.series.steps.begin(),
                          file.series.steps.end(), std::back_inserter(common));
    description.steps = std::move(common);
  }
  if (description.steps.empty()) {
    throw Error::input("{}: no step is in all {} files", files.front().path.string(), files.size());
  }
  for (const RecordedFile& file : files) {
    std::vector<std::int64_t>& rows = merged.rows.emplace_back();
    std::vector<std::int64_t> left_out;
    auto wanted = description.steps.begin();
    for (std::size_t row = 0; row < file.series.steps.size(); ++row) {
      if (wanted != description.steps.end() && file.series.steps[row] == *wanted) {
        rows.push_back(static_cast<std::int64_t>(row));
        ++wanted;
      } else {
        left_out.push_back(file.series.steps[row]);
      }
    }
    if (!left_out.empty()) {
      description.notes.push_back(fmt::format(
          "{}: {} that other files lack left out: {}", file.path.string(),
          left_out.size() == 1 ? "a step" : fmt::format("{} steps", left_out.size()), list_steps(left_out)));
    }
  }
}

/// A recording may keep fewer bits than the job had; the other way round nothing is lost.
void note_rounded(const RecordedFile& file, Description& description) {
  for (std::size_t i = 0; i < file.datasets.size(); ++i) {
    const DType stored = file.datasets[i].stored.dtype;
    const DType logical = file.parameters[i].dtype;
    const bool both_half = is_half_precision(stored) && is_half_precision(logical);
    if (stored == logical || (size_of(stored) >= size_of(logical) && !both_half)) continue;
    description.notes.push_back(fmt::format(
        "{}: gradients of {} are stored as {}, which cannot hold all of {}: they were "
        "rounded when they were recorded (first: \"{}\")",
        file.path.string(), to_string(logical), to_string(stored), to_string(logical), file.parameters[i].name));
    return;
  }
}

void note_oddities(const RecordedFile& file, Description& description) {
  note_rounded(file, description);
  if (!file.unlisted.empty()) {
    description.notes.push_back(fmt::format(
        "{}: {} of /gradients that /parameters does not list left out, the first \"{}\"", file.path.string(),
        file.unlisted.size() == 1 ? "a dataset" : fmt::format("{} datasets", file.unlisted.size()),
        make_printable(file.unlisted.front())));
  }
  if (!file.complete) {
    description.notes.push_back(fmt::format("{}: was not closed properly; its {} complete steps are used",
                                            file.path.string(), file.series.steps.size()));
  }
  if (file.minor_version > schema::minor_version) {
    description.notes.push_back(fmt::format("{}: written in layout {}.{}; what is new since {}.{} is not looked at",
                                            file.path.string(), schema::major_version, file.minor_version,
                                            schema::major_version, schema::minor_version));
  }
}

/// Shapes may agree where the jobs were two.
void note_other_job(const RecordedFile& first, const RecordedFile& other, Description& description) {
  if (first.model == other.model && first.framework == other.framework) return;
  description.notes.push_back(fmt::format(
      "{}: says model \"{}\", framework \"{}\" where {} says \"{}\", \"{}\": are they of one job?", other.path.string(),
      other.model, other.framework, first.path.string(), first.model, first.framework));
}

}  // namespace

Merged merge(std::span<const RecordedFile> files) {
  const RecordedFile& first = files.front();
  for (const RecordedFile& file : files.subspan(1)) require_same_recording(first, file);
  Merged merged;
  Description& description = merged.description;
  for (const RecordedFile& file : files.subspan(1)) note_other_job(first, file, description);
  description.world_size = first.world_size;
  description.parameters = first.parameters;
  description.buckets_recorded = first.buckets_recorded;
  description.grad_kind = first.grad_kind;
  description.framework = first.framework;
  description.framework_version = first.framework_version;
  description.model = first.model;
  description.writer = first.writer;
  description.complete =
      std::all_of(files.begin(), files.end(), [](const RecordedFile& file) { return file.complete; });
  for (const RecordedFile& file : files) {
    description.files.push_back(file.path);
    note_oddities(file, description);
  }
  merge_process_ranks(files, merged);
  merge_steps(files, merged);
  return merged;
}

}  // namespace psgd::dump
