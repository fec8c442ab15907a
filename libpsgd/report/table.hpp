#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// Results as tables and documents, and the files they go to. Knows nothing of dumps or replays.
namespace psgd::report {

/// One value of a table. monostate: there is none (JSON null, CSV empty, "-" in text).
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Row = std::vector<Cell>;

/// The value as a cell, or an empty cell where it does not exist.
template <class Value>
Cell cell_if(bool exists, const Value& value) {
  Cell cell;
  if (exists) cell = value;
  return cell;
}
template <class Value>
Cell cell_of(const std::optional<Value>& value) {
  Cell cell;
  if (value) cell = *value;
  return cell;
}

enum class Align { left, right };

/// How text shows a column's doubles. CSV and JSON always write them whole.
enum class NumberStyle {
  general,     ///< `digits` significant ones, exponent where shorter
  fixed,       ///< `digits` behind the point
  percent,     ///< times 100, `digits` behind the point, and a percent sign
  scientific,  ///< `digits` behind the point and an exponent
};

/// A named column and the hints for showing it to a person.
struct Column {
  std::string name;  ///< as CSV and JSON spell it
  Align align = Align::right;
  NumberStyle style = NumberStyle::general;
  int digits = 4;
  std::string heading{};  ///< what text shows instead of the name; empty: the name
  std::string unit{};     ///< text shows it in brackets behind the heading; empty: none
};

/// A column of words: aligned to the left.
Column text_column(std::string name, std::string heading = {});

/// Columns and rows. Rows are either stored or made one at a time when a writer asks for them, so that a large result
/// need not exist twice.
class Table {
 public:
  /// Fills `row`, which has one empty cell a column, with row `index`.
  using RowSource = std::function<void(std::size_t index, Row& row)>;

  /// A table whose rows are added one by one.
  explicit Table(std::vector<Column> columns);
  /// A table of `rows` rows that `source` makes on demand. Writers may ask for a row several times.
  Table(std::vector<Column> columns, std::size_t rows, RowSource source);

  /// Throws Error::internal when the row has not one cell a column, or the table makes its rows on demand.
  void add(Row row);

  [[nodiscard]] std::span<const Column> columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t rows() const noexcept { return source_ ? generated_rows_ : stored_.size(); }

  /// Calls visit for each row in order. The span is valid during the call only.
  void for_each_row(const std::function<void(std::span<const Cell>)>& visit) const;

 private:
  std::vector<Column> columns_;
  std::vector<Row> stored_;
  std::size_t generated_rows_ = 0;
  RowSource source_;
};

}  // namespace psgd::report
