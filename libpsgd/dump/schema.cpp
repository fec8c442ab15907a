#include "libpsgd/dump/schema.hpp"

namespace psgd::dump::schema {

std::string link_name(std::string_view parameter) {
  if (parameter.empty()) return "%";
  if (parameter == ".") return "%2E";
  if (parameter == "..") return "%2E%2E";
  std::string link;
  for (const char c : parameter) {
    if (c == '/') {
      link += "%2F";
    } else if (c == '%') {
      link += "%25";
    } else {
      link += c;
    }
  }
  return link;
}

}  // namespace psgd::dump::schema
