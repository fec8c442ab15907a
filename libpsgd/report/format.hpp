#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "libpsgd/report/table.hpp"

namespace psgd::report {

/// Takes the output piece by piece, in order.
using Sink = std::function<void(std::string_view)>;

/// A way to write a table.
struct Format {
  std::string_view name;  ///< "text", "csv", "json"
  std::string_view help;
  void (*write)(const Table& table, const Sink& sink);
};

/// Every format, in the order that help texts list them.
std::span<const Format> formats();

/// Throws Error::usage naming the known ones.
const Format& format(std::string_view name);

}  // namespace psgd::report
