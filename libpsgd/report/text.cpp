#include "libpsgd/report/text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "libpsgd/report/escape.hpp"

namespace psgd::report {
namespace {

constexpr std::string_view gap = "  ";

std::string number_text(double value, const Column& column) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  switch (column.style) {
    case NumberStyle::general:
      return fmt::format("{:.{}g}", value, column.digits);
    case NumberStyle::fixed:
      return fmt::format("{:.{}f}", value, column.digits);
    case NumberStyle::percent:
      return fmt::format("{:.{}f}%", 100 * value, column.digits);
    case NumberStyle::scientific:
      return fmt::format("{:.{}e}", value, column.digits);
  }
  return {};
}

std::string heading(const Column& column) {
  std::string text = escape_control(column.heading.empty() ? column.name : column.heading);
  if (!column.unit.empty()) text += " [" + column.unit + "]";
  return text;
}

void append_padded(std::string& line, std::string_view text, std::size_t width, Align align) {
  const std::string padding(width - std::min(width, display_width(text)), ' ');
  if (align == Align::right) line += padding;
  line += text;
  if (align == Align::left) line += padding;
}

void finish_line(std::string& line, const Sink& sink) {
  line.erase(line.find_last_not_of(' ') + 1);
  line += '\n';
  sink(line);
  line.clear();
}

std::vector<std::size_t> column_widths(const Table& table) {
  const auto columns = table.columns();
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(display_width(heading(column)));
  table.for_each_row([&](std::span<const Cell> row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(to_text(row[i], columns[i])));
    }
  });
  return widths;
}

}  // namespace

std::string to_text(const Cell& cell, const Column& column) {
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean ? "yes" : "no";
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&cell)) return number_text(*number, column);
  if (const auto* text = std::get_if<std::string>(&cell)) return escape_control(*text);
  return "-";
}

void write_text(const Table& table, const Sink& sink) {
  const auto columns = table.columns();
  const std::vector<std::size_t> widths = column_widths(table);
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line += gap;
    append_padded(line, heading(columns[i]), widths[i], columns[i].align);
  }
  finish_line(line, sink);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line += gap;
    line.append(widths[i], '-');
  }
  finish_line(line, sink);
  table.for_each_row([&](std::span<const Cell> row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += gap;
      append_padded(line, to_text(row[i], columns[i]), widths[i], columns[i].align);
    }
    finish_line(line, sink);
  });
}

}  // namespace psgd::report
