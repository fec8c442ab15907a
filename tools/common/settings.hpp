#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libpsgd/report/json.hpp"
#include "tools/common/values.hpp"

namespace psgd::tools {

/// Ties an option's text to a variable: how the text is read, and what the variable's value is as JSON.
struct Setting {
  std::function<void(const std::string& text)> assign;  ///< throws BadValue
  std::function<report::Json()> value;
};

/// Each of these refers to its variable, which has to outlive the options. An optional one that was not given is null.

template <class Integer>
Setting integer(Integer& target, std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  return {[&target, least, most](const std::string& text) {
            target = static_cast<Integer>(parse_integer(text, least, most));
          },
          [&target] { return report::Json(target); }};
}

Setting number(double& target, double least, double most = std::numeric_limits<double>::max());
Setting on_off(bool& target);
Setting choice(std::string& target, std::vector<std::string> choices);
Setting size(std::uint64_t& target);  ///< 0 means none and is null in JSON
Setting file(std::optional<std::filesystem::path>& target);
Setting globs(std::vector<std::string>& target);
Setting integer_list(std::optional<std::vector<std::int64_t>>& target);
Setting range(std::optional<std::pair<std::int64_t, std::int64_t>>& target);

}  // namespace psgd::tools
