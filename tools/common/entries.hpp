#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

/// What options and help texts make of the library's tables, whose entries have a name and a line of help.
namespace psgd::tools {

/// The entries' names, behind those given.
template <class Entry>
std::vector<std::string> names_of(std::span<const Entry> entries, std::vector<std::string> names = {}) {
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

/// The heading, then a line for each entry: its name and what it is.
template <class Entry>
std::string table_of(std::string_view heading, std::span<const Entry> entries) {
  std::string text = fmt::format("{}\n", heading);
  for (const Entry& entry : entries) text += fmt::format("  {:<22}{}\n", entry.name, entry.help);
  return text;
}

}  // namespace psgd::tools
