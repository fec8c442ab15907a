#include "libpsgd/report/table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "libpsgd/base/error.hpp"
#include "libpsgd/report/format.hpp"

namespace psgd::report {
namespace {

std::vector<std::int64_t> first_cells(const Table& table) {
  std::vector<std::int64_t> cells;
  table.for_each_row([&](std::span<const Cell> row) { cells.push_back(std::get<std::int64_t>(row[0])); });
  return cells;
}

TEST(Table, StoredRowsComeInOrder) {
  Table table({{"n"}, {"x"}});
  table.add({std::int64_t{1}, 0.5});
  table.add({std::int64_t{2}, {}});
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(first_cells(table), (std::vector<std::int64_t>{1, 2}));
}

TEST(Table, RowsMadeOnDemandBeginEmptyAndCanBeReadTwice) {
  int calls = 0;
  const Table table({{"n"}, {"x"}}, 3, [&](std::size_t index, Row& row) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(row[1]));
    row[0] = static_cast<std::int64_t>(index);
    row[1] = 1.0;
    ++calls;
  });
  EXPECT_EQ(first_cells(table), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(first_cells(table).size(), table.rows());
  EXPECT_EQ(calls, 6);
}

TEST(Table, AWrongNumberOfCellsIsAFault) {
  Table table({{"n"}});
  EXPECT_THROW(table.add({std::int64_t{1}, 2.0}), Error);
  const Table generated({{"n"}}, 1, [](std::size_t /*index*/, Row& row) { row.clear(); });
  EXPECT_THROW(first_cells(generated), Error);
}

TEST(Formats, AreFoundByNameAndAnUnknownOneNamesThem) {
  EXPECT_EQ(formats().size(), 3u);
  EXPECT_EQ(format("csv").name, "csv");
  try {
    format("html");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(), "no output format is called 'html' (known: text, csv, json)");
  }
}

}  // namespace
}  // namespace psgd::report
