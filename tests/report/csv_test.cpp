#include "libpsgd/report/csv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace psgd::report {
namespace {

std::string csv(const Table& table) {
  std::string out;
  write_csv(table, [&](std::string_view piece) { out += piece; });
  return out;
}

std::string one_cell(Cell cell) {
  Table table({{"c"}});
  table.add({std::move(cell)});
  const std::string out = csv(table);
  EXPECT_EQ(out.substr(0, 2), "c\n");
  return out.substr(2, out.size() - 3);
}

TEST(Csv, HeaderAndRows) {
  Table table({{"step"}, text_column("parameter"), {"x"}});
  table.add({std::int64_t{3}, std::string("fc.weight"), 0.25});
  EXPECT_EQ(csv(table), "step,parameter,x\n3,fc.weight,0.25\n");
}

TEST(Csv, NoRowsStillHaveAHeader) { EXPECT_EQ(csv(Table({{"a"}, {"b"}})), "a,b\n"); }

TEST(Csv, NoValueIsEmptyAndAnEmptyStringIsQuoted) {
  EXPECT_EQ(one_cell({}), "");
  EXPECT_EQ(one_cell(std::string()), "\"\"");
}

TEST(Csv, SpecialCharactersAreQuoted) {
  EXPECT_EQ(one_cell(std::string("a,b")), "\"a,b\"");
  EXPECT_EQ(one_cell(std::string("say \"x\"")), "\"say \"\"x\"\"\"");
  EXPECT_EQ(one_cell(std::string("two\nlines")), "\"two\nlines\"");
  EXPECT_EQ(one_cell(std::string("back\\slash")), "back\\slash");
}

TEST(Csv, NumbersThatAreNotFiniteAreWords) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(one_cell(nan), "nan");
  EXPECT_EQ(one_cell(std::copysign(nan, -1.0)), "nan");
  EXPECT_EQ(one_cell(infinity), "inf");
  EXPECT_EQ(one_cell(-infinity), "-inf");
}

TEST(Csv, DoublesReadBackAsTheSameNumber) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.125, 1e22}) {
    const std::string text = one_cell(value);
    const double back = std::strtod(text.c_str(), nullptr);
    EXPECT_EQ(back, value) << text;
    EXPECT_EQ(std::signbit(back), std::signbit(value)) << text;
  }
  EXPECT_EQ(one_cell(0.1), "0.1");
}

TEST(Csv, BooleansAndLargeIntegers) {
  EXPECT_EQ(one_cell(true), "true");
  EXPECT_EQ(one_cell(false), "false");
  EXPECT_EQ(one_cell(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

}  // namespace
}  // namespace psgd::report
