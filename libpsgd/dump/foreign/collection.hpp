#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/dump/foreign/foreign_file.hpp"
#include "libpsgd/dump/foreign/key_pattern.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::dump::foreign {

struct CollectionOptions {
  /// How keys are to be read. Unset: the first of key_patterns() that all keys are of, and that with the file's name
  /// tells the step.
  std::optional<KeyPattern> key_pattern;
  /// How a file's name, without its folder, is to be read. Unset: the numbers behind "step" and "rank" in it.
  std::optional<KeyPattern> file_pattern;
  std::vector<std::string> order;  ///< names in the model's own order; empty: as the first record has them
  bool slashes_to_dots = true;     ///< layer1/weight is the parameter layer1.weight
};

/// Patterns that are tried on keys.
std::span<const std::string_view> key_patterns();

/// Arrays of many files, put in order: the same parameters for every step and process rank.
class Collection {
 public:
  /// Opens all files. Throws Error::input naming file and key for what does not fit together: a key that is not of the
  /// pattern, an array that is missing or there twice, shapes or types that differ, process ranks that are not 0 … W−1;
  /// Error::usage when nothing tells the steps.
  Collection(const std::vector<std::filesystem::path>& files, const CollectionOptions& options);

  [[nodiscard]] const std::vector<std::int64_t>& steps() const noexcept { return steps_; }  ///< ascending
  [[nodiscard]] std::int64_t world_size() const noexcept { return world_size_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const std::string& pattern() const noexcept { return pattern_; }  ///< the one that keys were read by

  /// One tensor's values, numel of them; T = float or double.
  template <class T>
  void read(std::size_t step_index, std::int64_t process_rank, std::size_t parameter, std::vector<T>& values);

 private:
  struct Entry {
    std::size_t file = 0;
    std::size_t tensor = 0;
    KeyParts parts;
  };

  void check_file_names(const CollectionOptions& options) const;
  [[nodiscard]] KeyPattern choose_pattern(const CollectionOptions& options) const;
  [[nodiscard]] std::optional<KeyParts> read_file_name(std::size_t file, const CollectionOptions& options) const;
  [[nodiscard]] std::vector<Entry> list_entries(const KeyPattern& pattern, const CollectionOptions& options) const;
  [[nodiscard]] bool tells_all(const KeyPattern& pattern, const CollectionOptions& options) const;
  void set_extents(const std::vector<Entry>& entries);
  void name_parameters(const std::vector<Entry>& entries, const CollectionOptions& options);
  void place(const std::vector<Entry>& entries);
  [[nodiscard]] std::size_t slot(std::size_t step, std::int64_t rank, std::size_t parameter) const;
  [[nodiscard]] std::string describe(const Entry& entry) const;

  std::vector<std::filesystem::path> paths_;
  std::vector<std::unique_ptr<File>> files_;
  std::string pattern_;
  std::vector<std::int64_t> steps_;
  std::int64_t world_size_ = 0;
  std::vector<Parameter> parameters_;
  std::vector<Entry> entries_;  ///< [step][process rank][parameter]
  std::vector<std::byte> stored_;
};

}  // namespace psgd::dump::foreign
