#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/common/settings.hpp"
#include "tools/common/values.hpp"

namespace psgd::tools {

/// "1,2,4": every part read by `parse`, which throws BadValue; `show` makes JSON of a value. An option that was not
/// given is an empty list, null in JSON.
template <class Value, class Parse, class Show>
Setting list_of(std::vector<Value>& target, Parse parse, Show show) {
  return {[&target, parse](const std::string& text) {
            target.clear();
            for (const std::string_view part : split(text, ',')) {
              if (part.empty()) throw BadValue("a value between the commas is empty");
              target.push_back(parse(std::string(part)));
            }
          },
          [&target, show] {
            if (target.empty()) return report::Json(nullptr);
            report::Json values = report::Json::array();
            for (const auto& value : target) values.push_back(show(value));
            return values;
          }};
}

template <class Integer>
Setting integers(std::vector<Integer>& target, std::int64_t least,
                 std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  return list_of(
      target, [least, most](const std::string& text) { return static_cast<Integer>(parse_integer(text, least, most)); },
      [](Integer value) { return report::Json(value); });
}

inline Setting numbers(std::vector<double>& target, double least, double most = std::numeric_limits<double>::max()) {
  return list_of(
      target, [least, most](const std::string& text) { return parse_number(text, least, most); },
      [](double value) { return report::Json(value); });
}

inline Setting switches(std::vector<bool>& target) {
  return list_of(
      target, [](const std::string& text) { return parse_on_off(text); },
      [](bool value) { return report::Json(value); });
}

inline Setting choices(std::vector<std::string>& target, std::vector<std::string> known) {
  return list_of(
      target, [known = std::move(known)](const std::string& text) { return parse_choice(text, known); },
      [](const std::string& value) { return report::Json(value); });
}

/// Values of an enumeration by their names.
template <class Value>
Setting named_values(std::vector<Value>& target, std::vector<std::pair<std::string, Value>> known) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const auto& [name, value] : known) names.push_back(name);
  return list_of(
      target,
      [known, names](const std::string& text) {
        const std::string name = parse_choice(text, names);
        return std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.first == name; })->second;
      },
      [known](Value value) {
        return report::Json(
            std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.second == value; })->first);
      });
}

}  // namespace psgd::tools
