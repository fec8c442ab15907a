#include "libpsgd/report/format.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "libpsgd/base/error.hpp"
#include "libpsgd/report/csv.hpp"
#include "libpsgd/report/json.hpp"
#include "libpsgd/report/text.hpp"

namespace psgd::report {
namespace {

constexpr std::array known{
    Format{"text", "aligned columns for a person", write_text},
    Format{"csv", "comma-separated values with a header line", write_csv},
    Format{"json", "an object with columns and records", write_json},
};

}  // namespace

std::span<const Format> formats() { return known; }

const Format& format(std::string_view name) {
  const auto* found = std::find_if(known.begin(), known.end(), [&](const Format& one) { return one.name == name; });
  if (found != known.end()) return *found;
  std::string names;
  for (const Format& one : known) names += (names.empty() ? "" : ", ") + std::string(one.name);
  throw Error::usage("no output format is called '{}' (known: {})", name, names);
}

}  // namespace psgd::report
