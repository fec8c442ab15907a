#include "tools/psgd-sweep/network_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "libpsgd/base/error.hpp"
#include "libpsgd/report/json.hpp"

namespace psgd::tools::sweep {
namespace {

using report::Json;

constexpr std::string_view forms =
    "it has to hold \"alpha\" and \"bandwidth\", or \"process_ranks\" and \"all_reduce\" (a list of {\"bytes\", "
    "\"seconds\"})";

/// The file's content, and its name for messages.
struct Source {
  std::string file;
  Json json;
};

Source load(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path))
    throw Error::input("{}: cannot read the network file: {}", path.string(),
                       std::filesystem::is_directory(path) ? "it is a directory" : std::strerror(errno));
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  try {
    return {path.string(), Json::parse(text)};
  } catch (const Json::parse_error& error) {
    throw Error::input("{}: not JSON at byte {}; {}", path.string(), error.byte, forms);
  }
}

void check_keys(const std::string& place, const Json& object, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) throw Error::input("{}: not an object; {}", place, forms);
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error::input("{}: unknown key \"{}\"; {}", place, key, forms);
  }
}

double number_in(const std::string& place, const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) throw Error::input("{}: \"{}\" is missing; {}", place, key, forms);
  if (!at->is_number()) throw Error::input("{}: \"{}\" is not a number", place, key);
  const auto value = at->get<double>();
  if (!std::isfinite(value) || value < 0)
    throw Error::input("{}: \"{}\" must be at least 0 and finite, got {}", place, key, value);
  return value;
}

model::NetworkFit given(const Source& source) {
  check_keys(source.file, source.json, {"alpha", "bandwidth", "notes"});
  const double alpha = number_in(source.file, source.json, "alpha");
  const double bandwidth = number_in(source.file, source.json, "bandwidth");
  if (bandwidth == 0) throw Error::input("{}: \"bandwidth\" must be positive", source.file);
  return {{alpha, 1 / bandwidth}, 0};
}

model::NetworkFit fitted(const Source& source) {
  check_keys(source.file, source.json, {"process_ranks", "algorithm", "all_reduce", "notes"});
  const double ranks = number_in(source.file, source.json, "process_ranks");
  if (ranks != std::floor(ranks) || ranks > 1e9)
    throw Error::input("{}: \"process_ranks\" is not a whole number, got {}", source.file, ranks);
  const Json& list = source.json["all_reduce"];
  if (!list.is_array()) throw Error::input("{}: \"all_reduce\" is not a list", source.file);
  std::vector<model::TimedAllReduce> measurements;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("{}: all_reduce[{}]", source.file, i);
    check_keys(place, list[i], {"bytes", "seconds"});
    measurements.push_back({number_in(place, list[i], "bytes"), number_in(place, list[i], "seconds")});
  }
  const auto name = source.json.find("algorithm");
  if (name != source.json.end() && !name->is_string())
    throw Error::input("{}: \"algorithm\" is neither \"ring\" nor \"tree\"", source.file);
  try {
    const auto algorithm =
        name == source.json.end() ? model::Algorithm::ring : model::algorithm_from_string(name->get<std::string>());
    return model::fit_network(algorithm, static_cast<std::int64_t>(ranks), measurements);
  } catch (const Error& error) {
    throw Error::input("{}: {}", source.file, error.what());
  }
}

}  // namespace

model::NetworkFit read_network_file(const std::filesystem::path& path) {
  const Source source = load(path);
  if (!source.json.is_object()) throw Error::input("{}: not an object; {}", source.file, forms);
  return source.json.contains("all_reduce") ? fitted(source) : given(source);
}

}  // namespace psgd::tools::sweep
