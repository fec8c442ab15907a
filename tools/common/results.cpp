#include "tools/common/results.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/file_kind.hpp"
#include "libpsgd/dump/reader.hpp"

namespace psgd::tools {
namespace {

std::optional<std::string> file_identity(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

/// Equal for two paths exactly when writing both would spoil one; nothing for devices, which any number may write to.
std::optional<std::string> output_identity(const OutputPath& output) {
  if (output.kind == OutputPath::Kind::descriptor) return fmt::format("descriptor {}", output.descriptor);
  if (output.kind == OutputPath::Kind::direct) return std::nullopt;
  if (output.exists) return file_identity(output.target);
  const std::filesystem::path target(output.target);
  return (std::filesystem::canonical(output.directory) / target.filename()).string();
}

bool is_standard_output(const std::optional<std::filesystem::path>& path) {
  if (!path) return false;
  const OutputPath output = resolve_output_path(path->string());
  return output.kind == OutputPath::Kind::descriptor && output.descriptor == STDOUT_FILENO;
}

bool is_one_of(const std::optional<std::string>& identity, const std::vector<std::filesystem::path>& files) {
  return identity && std::any_of(files.begin(), files.end(), [&](const std::filesystem::path& file) {
           return file_identity(file.string()) == identity;
         });
}

/// An option's forgotten FILE must not cost the recording that was named next.
void check_replaced(const NamedOutput& output, const OutputPath& path) {
  if (path.kind != OutputPath::Kind::replace || !path.exists) return;
  const dump::FileKind kind = dump::file_kind(path.target);
  const bool text = output.option == "--json" || output.option == "--csv";
  if (kind == dump::FileKind::recording || (text && kind == dump::FileKind::hdf5)) {
    throw Error::usage("{} {}: would replace {}; give another name, or remove it first", output.option,
                       output.path.string(), kind == dump::FileKind::recording ? "a recording" : "an HDF5 file");
  }
}

void write_one(std::optional<OutputFile>& file, const ResultFiles::Write& write) {
  if (file) write([&](std::string_view piece) { file->write(piece); });
}

}  // namespace

void add_result_options(Options& options, ResultOptions& results, const std::string& csv_help) {
  options
      .add("json", "FILE", file(results.json), "write everything as JSON; - is standard output, in place of the tables")
      .add("csv", "FILE", file(results.csv), csv_help + "; - is standard output, in place of the tables");
}

void check_dump_output(const std::filesystem::path& output, std::string_view writer,
                       const std::vector<std::filesystem::path>& inputs) {
  if (is_one_of(file_identity(output.string()), inputs)) {
    throw Error::usage("{}: this is a file to read from", output.string());
  }
  if (dump::file_kind(output) != dump::FileKind::recording) return;
  if (dump::Reader({output}).description().writer == writer) return;
  throw Error::usage("{}: would replace a recording; give another name, or remove it first", output.string());
}

void check_outputs(const std::vector<NamedOutput>& outputs, const std::vector<std::filesystem::path>& inputs) {
  std::map<std::string, std::string> taken;
  for (const NamedOutput& output : outputs) {
    const OutputPath path = resolve_output_path(output.path.string());
    const auto identity = output_identity(path);
    if (!identity) continue;
    if (is_one_of(identity, inputs)) {
      throw Error::usage("{} {}: this is a file to read from; give another name", output.option, output.path.string());
    }
    const auto [other, is_new] = taken.emplace(*identity, output.option);
    if (!is_new) {
      throw Error::usage("{} and {} name the same file, {}", other->second, output.option, output.path.string());
    }
    check_replaced(output, path);
  }
}

ResultFiles::ResultFiles(const ResultOptions& options) {
  if (!is_standard_output(options.json) && !is_standard_output(options.csv)) text_.emplace("-");
  if (options.json) json_.emplace(options.json->string());
  if (options.csv) csv_.emplace(options.csv->string());
}

void ResultFiles::write(const Write& text, const Write& json, const Write& csv) {
  write_one(json_, json);
  write_one(csv_, csv);
  write_one(text_, text);
  for (auto* file : {&json_, &csv_, &text_}) {
    if (*file) (*file)->commit();
  }
}

}  // namespace psgd::tools
