#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "libpsgd/report/format.hpp"

namespace psgd::report {

/// Keeps the keys in the order they were set.
using Json = nlohmann::ordered_json;

/// A cell as JSON: null where there is no value or it is not finite.
Json to_json(const Cell& cell);

/// A number, or null where it is not finite.
Json finite_or_null(double value);

/// An object whose members are values or whole tables. Tables are written row by row, so they are never held as JSON.
class JsonDocument {
 public:
  void add(std::string key, Json value);
  /// Puts a value in the place of the member `key`, which exists. Throws Error::internal when it does not.
  void replace(std::string_view key, Json value);
  /// Two members: the column names under `columns_key`, the rows as arrays under `records_key`.
  void add_table(std::string columns_key, std::string records_key, Table table);

  /// One member a line, a row of a table a line; UTF-8, bytes that are not become U+FFFD.
  void write(const Sink& sink) const;

 private:
  struct TableMember {
    std::string records_key;
    Table table;
  };
  std::vector<std::pair<std::string, std::variant<Json, TableMember>>> members_;
};

/// A document of just `columns` and `records`.
void write_json(const Table& table, const Sink& sink);

}  // namespace psgd::report
