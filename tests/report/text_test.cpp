#include "libpsgd/report/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace psgd::report {
namespace {

std::string text(const Table& table) {
  std::string out;
  write_text(table, [&](std::string_view piece) { out += piece; });
  return out;
}

TEST(Text, ColumnsAreAlignedUnderTheirHeadings) {
  const Column seconds{"seconds", Align::right, NumberStyle::fixed, 2, "time", "s"};
  Table table({text_column("parameter"), {"rows"}, seconds, text_column("note")});
  table.add({std::string("fc.weight"), std::int64_t{128}, 1.234, std::string("good")});
  table.add({std::string("b"), std::int64_t{7}, {}, std::string()});
  EXPECT_EQ(text(table),
            "parameter  rows  time [s]  note\n"
            "---------  ----  --------  ----\n"
            "fc.weight   128      1.23  good\n"
            "b             7         -\n");
}

TEST(Text, NumberStyles) {
  const auto shown = [](const Cell& cell, NumberStyle style, int digits) {
    return to_text(cell, Column{"x", Align::right, style, digits});
  };
  EXPECT_EQ(shown(0.123456, NumberStyle::general, 4), "0.1235");
  EXPECT_EQ(shown(1.5e-7, NumberStyle::general, 4), "1.5e-07");
  EXPECT_EQ(shown(0.123456, NumberStyle::percent, 1), "12.3%");
  EXPECT_EQ(shown(123456.0, NumberStyle::scientific, 2), "1.23e+05");
  EXPECT_EQ(shown(std::numeric_limits<double>::quiet_NaN(), NumberStyle::fixed, 1), "nan");
  EXPECT_EQ(shown(-std::numeric_limits<double>::infinity(), NumberStyle::fixed, 1), "-inf");
  EXPECT_EQ(shown(true, NumberStyle::general, 4), "yes");
  EXPECT_EQ(shown(false, NumberStyle::general, 4), "no");
}

TEST(Text, LongNamesStayWholeAndControlCharactersDoNothing) {
  const std::string name = std::string(300, 'a') + "\x1b[2J";
  Table table({text_column("parameter"), {"n"}});
  table.add({name, std::int64_t{1}});
  table.add({std::string("ü"), std::int64_t{2}});
  const std::string out = text(table);
  EXPECT_NE(out.find(std::string(300, 'a') + "\\x1b[2J  1\n"), std::string::npos);
  EXPECT_NE(out.find("ü" + std::string(307, ' ')), std::string::npos) << "padding counts characters, not bytes";
}

TEST(Text, AThousandRowsAreAThousandLines) {
  const Table table({{"n"}}, 1000, [](std::size_t index, Row& row) { row[0] = static_cast<std::int64_t>(index); });
  const std::string out = text(table);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1002);
}

}  // namespace
}  // namespace psgd::report
