#include "libpsgd/report/csv.hpp"

#include <cmath>
#include <iterator>
#include <string>

#include <fmt/format.h>

namespace psgd::report {
namespace {

void append_string(std::string& out, const std::string& text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";  // fmt would print a NaN's sign, which means nothing here
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void append_cell(std::string& out, const Cell& cell) {
  if (const auto* boolean = std::get_if<bool>(&cell)) {
    out += *boolean ? "true" : "false";
  } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    fmt::format_to(std::back_inserter(out), "{}", *integer);
  } else if (const auto* number = std::get_if<double>(&cell)) {
    append_double(out, *number);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    append_string(out, *text);
  }
}

}  // namespace

void write_csv(const Table& table, const Sink& sink) {
  std::string line;
  for (const Column& column : table.columns()) {
    if (!line.empty()) line += ',';
    append_string(line, column.name);
  }
  line += '\n';
  sink(line);
  table.for_each_row([&](std::span<const Cell> row) {
    line.clear();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += ',';
      append_cell(line, row[i]);
    }
    line += '\n';
    sink(line);
  });
}

}  // namespace psgd::report
