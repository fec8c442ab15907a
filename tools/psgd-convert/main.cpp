#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/interrupt.hpp"
#include "libpsgd/dump/foreign/collection.hpp"
#include "libpsgd/dump/pending_file.hpp"
#include "libpsgd/dump/writer.hpp"
#include "tools/common/console.hpp"
#include "tools/common/entries.hpp"
#include "tools/common/main.hpp"
#include "tools/common/results.hpp"

namespace psgd::tools::convert {
namespace {

namespace foreign = dump::foreign;

struct ConvertOptions {
  std::vector<std::filesystem::path> files;
  std::optional<std::filesystem::path> output;
  std::optional<std::filesystem::path> order;
  std::string key_pattern;
  std::string file_pattern;
  foreign::CollectionOptions collection;
  std::string grad_kind = "local";
  bool gzip = false;
  CommonOptions common;
};

constexpr std::string_view summary =
    "Makes a gradient dump of layout v1 out of gradients that were saved in other formats, one array a parameter. "
    "Every "
    "step\nand process rank has to have the same parameters.";

std::string epilogue() {
  std::string text = table_of("Formats, told by a file's contents:", foreign::formats());
  text +=
      "\nPatterns: {step} and {rank} stand for digits, {name} for the parameter's name, {any} for anything else. Tried "
      "on keys\nunless --key-pattern is given:\n";
  for (const auto& pattern : foreign::key_patterns()) text += fmt::format("  {}\n", pattern);
  return text +
         "What a key does not say, the file's name does: the numbers behind \"step\" and \"rank\" in it, or what "
         "--file-pattern finds.\nWithout a process rank it is 0.\n\n"
         "The order of parameters decides how they share out into buckets and which random numbers each gets: give it "
         "by "
         "--order\nwhere the files do not have the model's own.\n\n" +
         exit_code_help();
}

Setting pattern(std::string& text, std::optional<foreign::KeyPattern>& target) {
  return {[&text, &target](const std::string& value) {
            try {
              target.emplace(value);
            } catch (const Error& error) {
              throw BadValue(error.what());
            }
            text = value;
          },
          [&text] { return text.empty() ? report::Json(nullptr) : report::Json(text); }};
}

std::vector<std::string> read_order(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> names;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty()) names.push_back(line);
  }
  if (!file.eof() || names.empty()) throw Error::input("{}: cannot read a name a line from it", path.string());
  return names;
}

std::optional<ConvertOptions> parse(const std::vector<std::string>& arguments) {
  ConvertOptions result;
  Options options({"psgd-convert", "--output DUMP.h5 [options] FILE [FILE ...]", std::string(summary), epilogue()});
  options.group("Input")
      .add("key-pattern", "TEXT", pattern(result.key_pattern, result.collection.key_pattern), "how keys are made",
           "the first below that fits")
      .add("file-pattern", "TEXT", pattern(result.file_pattern, result.collection.file_pattern),
           "how file names are made, without the folder", "numbers behind step and rank")
      .add("order", "FILE", file(result.order), "the parameters' names in the model's own order, one a line",
           "as the first file has them")
      .add("slashes-to-dots", "on|off", on_off(result.collection.slashes_to_dots), "layer1/weight is layer1.weight")
      .add("grad-kind", "KIND", choice(result.grad_kind, {"local", "averaged"}),
           "gradients of a process rank each, or averaged over them");
  options.group("Output")
      .add("output", "DUMP.h5", file(result.output), "the dump to write")
      .add("gzip", "on|off", on_off(result.gzip), "shuffle and gzip level 1");
  add_common_options(options, result.common);
  const auto files = options.parse(arguments);
  if (!files) return std::nullopt;
  if (files->empty()) throw Error::usage("no file was named (see psgd-convert --help)");
  if (!result.output) throw Error::usage("option '--output' is missing: it names the dump to write");
  result.files.assign(files->begin(), files->end());
  return result;
}

dump::WriterOptions writer_options(const ConvertOptions& options, const foreign::Collection& collection) {
  dump::WriterOptions wanted;
  wanted.world_size = collection.world_size();
  wanted.parameters = collection.parameters();
  wanted.grad_kind = options.grad_kind == "local" ? dump::GradKind::local : dump::GradKind::averaged;
  wanted.writer = "psgd-convert";
  wanted.shuffle = options.gzip;
  wanted.gzip = options.gzip ? 1 : 0;
  wanted.shown_as = *options.output;
  wanted.durable = false;
  return wanted;
}

template <class T>
void append_step(foreign::Collection& collection, std::size_t step, dump::Writer& writer) {
  const auto ranks = static_cast<std::size_t>(collection.world_size());
  std::vector<std::vector<std::vector<T>>> values(ranks);
  std::vector<std::vector<const T*>> pointers(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    values[rank].resize(collection.parameters().size());
    for (std::size_t i = 0; i < values[rank].size(); ++i) {
      collection.read(step, static_cast<std::int64_t>(rank), i, values[rank][i]);
      pointers[rank].push_back(values[rank][i].data());
    }
  }
  writer.append_step<T>(collection.steps()[step], pointers);
}

template <class T>
void append_steps(foreign::Collection& collection, dump::Writer& writer, Console& console) {
  ProgressScope progress(console.progress(), collection.steps().size(), "steps");
  for (std::size_t step = 0; step < collection.steps().size(); ++step) {
    if (stop_requested()) throw Error(ErrorKind::interrupted, "interrupted: nothing was written");
    append_step<T>(collection, step, writer);
    progress.advance();
  }
}

int run(const std::vector<std::string>& arguments) {
  auto options = parse(arguments);
  if (!options) return exit_done;
  Console console("psgd-convert", options->common);
  check_dump_output(*options->output, "psgd-convert", options->files);
  if (options->order) options->collection.order = read_order(*options->order);
  foreign::Collection collection(options->files, options->collection);
  dump::PendingFile pending(*options->output);
  {
    dump::Writer writer(pending.path(), writer_options(*options, collection));
    if (dump::widest_dtype(collection.parameters()) == DType::float64) {
      append_steps<double>(collection, writer, console);
    } else {
      append_steps<float>(collection, writer, console);
    }
    writer.close();
  }
  pending.commit();
  return exit_done;
}

}  // namespace
}  // namespace psgd::tools::convert

int main(int argc, char** argv) { return psgd::tools::run_main("psgd-convert", argc, argv, psgd::tools::convert::run); }
