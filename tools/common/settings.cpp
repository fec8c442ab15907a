#include "tools/common/settings.hpp"

namespace psgd::tools {

using report::Json;

Setting number(double& target, double least, double most) {
  return {[&target, least, most](const std::string& text) { target = parse_number(text, least, most); },
          [&target] { return Json(target); }};
}

Setting on_off(bool& target) {
  return {[&target](const std::string& text) { target = parse_on_off(text); }, [&target] { return Json(target); }};
}

Setting choice(std::string& target, std::vector<std::string> choices) {
  return {[&target, choices = std::move(choices)](const std::string& text) { target = parse_choice(text, choices); },
          [&target] { return Json(target); }};
}

Setting size(std::uint64_t& target) {
  return {[&target](const std::string& text) { target = parse_size(text); },
          [&target] { return target == 0 ? Json(nullptr) : Json(target); }};
}

Setting file(std::optional<std::filesystem::path>& target) {
  return {[&target](const std::string& text) {
            if (text.empty()) throw BadValue("the file's name is empty");
            target = text;
          },
          [&target] { return target ? Json(target->string()) : Json(nullptr); }};
}

Setting globs(std::vector<std::string>& target) {
  return {[&target](const std::string& text) { target = parse_globs(text); },
          [&target] { return target.empty() ? Json(nullptr) : Json(target); }};
}

Setting integer_list(std::optional<std::vector<std::int64_t>>& target) {
  return {[&target](const std::string& text) { target = parse_integer_list(text); },
          [&target] { return target ? Json(*target) : Json(nullptr); }};
}

Setting range(std::optional<std::pair<std::int64_t, std::int64_t>>& target) {
  return {[&target](const std::string& text) { target = parse_range(text); },
          [&target] {
            return target ? Json({target->first, target->second}) : Json(nullptr);
          }};
}

}  // namespace psgd::tools
