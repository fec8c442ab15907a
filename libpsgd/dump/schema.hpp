#pragma once

#include <string>
#include <string_view>

/// Names in a gradient dump, layout v1 (datasets/README.md describes it). Every name stands here once.
namespace psgd::dump::schema {

inline constexpr std::string_view format = "psgd-gradients";

/// A parameter's link name below /gradients: dots kept; `/`, `%`, and the names "", "." and ".." percent-escaped.
std::string link_name(std::string_view parameter);

}  // namespace psgd::dump::schema
