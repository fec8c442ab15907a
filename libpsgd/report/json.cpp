#include "libpsgd/report/json.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/base/error.hpp"

namespace psgd::report {
namespace {

std::string compact(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool is_flat(const Json& value) {
  return std::none_of(value.begin(), value.end(), [](const Json& item) { return item.is_structured(); });
}

/// Like dump(2), but arrays and objects without arrays or objects inside stay on one line.
void append_value(std::string& out, const Json& value, std::size_t depth) {
  if (!value.is_structured() || is_flat(value)) {
    out += compact(value);
    return;
  }
  const bool object = value.is_object();
  const std::string indent(2 * (depth + 1), ' ');
  out += object ? "{" : "[";
  const char* separator = "\n";
  for (const auto& [key, item] : value.items()) {
    out += separator;
    out += indent;
    if (object) out += compact(key) + ": ";
    append_value(out, item, depth + 1);
    separator = ",\n";
  }
  out += '\n' + std::string(2 * depth, ' ') + (object ? "}" : "]");
}

void write_table(const std::string& columns_key, const std::string& records_key, const Table& table, const Sink& sink) {
  Json names = Json::array();
  for (const Column& column : table.columns()) names.push_back(column.name);
  sink("  " + compact(columns_key) + ": " + compact(names) + ",\n  " + compact(records_key) + ": [");
  const char* separator = "\n    ";
  std::string line;
  table.for_each_row([&](std::span<const Cell> row) {
    line = separator;
    line += '[';
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += ", ";
      line += compact(to_json(row[i]));
    }
    line += ']';
    sink(line);
    separator = ",\n    ";
  });
  sink(table.rows() > 0 ? "\n  ]" : "]");
}

}  // namespace

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const Cell& cell) {
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* number = std::get_if<double>(&cell)) return finite_or_null(*number);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

void JsonDocument::add(std::string key, Json value) { members_.emplace_back(std::move(key), std::move(value)); }

void JsonDocument::replace(std::string_view key, Json value) {
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const auto& one) { return one.first == key; });
  if (found == members_.end()) throw Error::internal("the document has no member '{}' to replace", key);
  found->second = std::move(value);
}

void JsonDocument::add_table(std::string columns_key, std::string records_key, Table table) {
  members_.emplace_back(std::move(columns_key), TableMember{std::move(records_key), std::move(table)});
}

void JsonDocument::write(const Sink& sink) const {
  const char* separator = "{\n";
  for (const auto& [key, member] : members_) {
    sink(separator);
    if (const auto* table = std::get_if<TableMember>(&member)) {
      write_table(key, table->records_key, table->table, sink);
    } else {
      std::string text = "  " + compact(key) + ": ";
      append_value(text, std::get<Json>(member), 1);
      sink(text);
    }
    separator = ",\n";
  }
  sink(members_.empty() ? "{}\n" : "\n}\n");
}

void write_json(const Table& table, const Sink& sink) {
  sink("{\n");
  write_table("columns", "records", table, sink);
  sink("\n}\n");
}

}  // namespace psgd::report
