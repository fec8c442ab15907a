#pragma once

#include <string_view>

namespace psgd::tools {

/// The project's version; the build defines it.
inline constexpr std::string_view version = PSGD_VERSION;

}  // namespace psgd::tools
