#include "libpsgd/report/table.hpp"

#include <algorithm>
#include <utility>

#include "libpsgd/base/error.hpp"

namespace psgd::report {

Column text_column(std::string name, std::string heading) {
  Column column;
  column.name = std::move(name);
  column.align = Align::left;
  column.heading = std::move(heading);
  return column;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

Table::Table(std::vector<Column> columns, std::size_t rows, RowSource source)
    : columns_(std::move(columns)), generated_rows_(rows), source_(std::move(source)) {}

void Table::add(Row row) {
  if (source_) throw Error::internal("a table that makes its rows on demand takes no others");
  if (row.size() != columns_.size()) {
    throw Error::internal("a row of {} cells for a table of {} columns", row.size(), columns_.size());
  }
  stored_.push_back(std::move(row));
}

void Table::for_each_row(const std::function<void(std::span<const Cell>)>& visit) const {
  if (!source_) {
    for (const Row& row : stored_) visit(row);
    return;
  }
  Row row(columns_.size());
  for (std::size_t index = 0; index < generated_rows_; ++index) {
    std::fill(row.begin(), row.end(), Cell{});
    source_(index, row);
    if (row.size() != columns_.size()) throw Error::internal("row {} was made with {} cells", index, row.size());
    visit(row);
  }
}

}  // namespace psgd::report
