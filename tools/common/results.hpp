#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/base/output_file.hpp"
#include "libpsgd/report/format.hpp"
#include "tools/common/options.hpp"

namespace psgd::tools {

/// --json and --csv.
struct ResultOptions {
  std::optional<std::filesystem::path> json;
  std::optional<std::filesystem::path> csv;
};

/// Adds both to the current group; `results` has to outlive the options.
void add_result_options(Options& options, ResultOptions& results, const std::string& csv_help);

/// A file that an option asks to be written.
struct NamedOutput {
  std::string option;  ///< "--output"
  std::filesystem::path path;
};

/// For a program whose result is a dump: throws Error::usage when `output` is one of `inputs`, or would replace a
/// recording that `writer` (as its attribute says) did not make.
void check_dump_output(const std::filesystem::path& output, std::string_view writer,
                       const std::vector<std::filesystem::path>& inputs);

/// Throws Error::usage when an output is one of `inputs`, or two outputs are the same file, by whatever name,
/// or when one would replace a recording (--json and --csv: any HDF5 file);
/// Error::input when one cannot be written.
void check_outputs(const std::vector<NamedOutput>& outputs, const std::vector<std::filesystem::path>& inputs);

/// Where a program's results go: the files of --json and --csv, and text for a person on standard output unless one of
/// them is written there.
class ResultFiles {
 public:
  /// Opens all, so that a path that cannot be written shows before any work is done.
  explicit ResultFiles(const ResultOptions& options);

  using Write = std::function<void(const report::Sink&)>;

  /// Writes what is wanted, then puts every file in its place.
  void write(const Write& text, const Write& json, const Write& csv);

 private:
  std::optional<OutputFile> text_;
  std::optional<OutputFile> json_;
  std::optional<OutputFile> csv_;
};

}  // namespace psgd::tools
