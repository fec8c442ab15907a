#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "libpsgd/dump/description.hpp"
#include "libpsgd/dump/gradient_dataset.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/dump/series.hpp"

namespace psgd::dump {

/// One file of a dump, open, checked and described; no gradient has been read.
struct RecordedFile {
  hdf5::File file;
  hdf5::Group gradients;
  std::filesystem::path path;
  std::uint64_t bytes = 0;  ///< the file's size when it was opened
  std::int64_t minor_version = 0;
  std::int64_t world_size = 0;
  std::vector<std::int64_t> process_ranks;  ///< of each column, in the file's order
  GradKind grad_kind = GradKind::local;
  bool complete = false;
  std::string framework;
  std::string framework_version;
  std::string model;
  std::string writer;
  Series series;
  std::vector<Parameter> parameters;
  bool buckets_recorded = false;
  std::vector<GradientDataset> datasets;  ///< a parameter's each
  std::vector<std::string> unlisted;      ///< links in /gradients that /parameters does not name
};

/// Throws Error::input, beginning with the path, for whatever is not a sound dump in layout v1.
/// `metadata_bytes` as for hdf5::File::open.
RecordedFile open_recorded_file(const std::filesystem::path& path, bool allow_plugins, std::size_t metadata_bytes);

}  // namespace psgd::dump
