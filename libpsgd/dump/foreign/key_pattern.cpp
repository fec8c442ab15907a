#include "libpsgd/dump/foreign/key_pattern.hpp"

#include <charconv>

#include "libpsgd/base/error.hpp"

namespace psgd::dump::foreign {
namespace {

constexpr std::string_view special = "\\^$.|?*+()[]{}";

std::int64_t number(const std::string& digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) throw Error::input("the number {} in a key is too large", digits);
  return value;
}

}  // namespace

KeyPattern::KeyPattern(std::string text) : text_(std::move(text)) {
  if (text_.empty()) throw Error::usage("a pattern is empty");
  std::string expression;
  int groups = 0;
  for (std::size_t at = 0; at < text_.size();) {
    if (text_[at] == '{') {
      const std::size_t end = text_.find('}', at);
      if (end == std::string::npos) throw Error::usage("pattern \"{}\": a brace is not closed", text_);
      const std::string_view place = std::string_view(text_).substr(at + 1, end - at - 1);
      add_place(place, ++groups);
      expression += place == "step" || place == "rank" ? "([0-9]+)" : "(.+)";
      at = end + 1;
      continue;
    }
    if (special.find(text_[at]) != std::string_view::npos) expression += '\\';
    expression += text_[at++];
  }
  expression_ = std::regex(expression);
}

void KeyPattern::add_place(std::string_view place, int group) {
  if (place == "any") return;
  for (const auto& [name, target] :
       {std::pair<std::string_view, int*>{"step", &step_}, {"rank", &rank_}, {"name", &name_}}) {
    if (place != name) continue;
    if (*target != 0) throw Error::usage("pattern \"{}\": {{{}}} stands there twice", text_, name);
    *target = group;
    return;
  }
  throw Error::usage("pattern \"{}\": {{{}}} is none of {{step}}, {{rank}}, {{name}} and {{any}}", text_, place);
}

std::optional<KeyParts> KeyPattern::match(const std::string& key) const {
  std::smatch found;
  if (!std::regex_match(key, found, expression_)) return std::nullopt;
  KeyParts parts;
  if (step_ != 0) parts.step = number(found[static_cast<std::size_t>(step_)]);
  if (rank_ != 0) parts.rank = number(found[static_cast<std::size_t>(rank_)]);
  if (name_ != 0) parts.name = found[static_cast<std::size_t>(name_)];
  return parts;
}

}  // namespace psgd::dump::foreign
