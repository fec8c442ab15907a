#include "libpsgd/report/json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "libpsgd/base/error.hpp"

namespace psgd::report {
namespace {

std::string text_of(const JsonDocument& document) {
  std::string out;
  document.write([&](std::string_view piece) { out += piece; });
  return out;
}

Table two_rows() {
  Table table({{"n"}, text_column("name"), {"x"}, {"ok"}});
  table.add({std::int64_t{1}, std::string("a"), 0.5, true});
  table.add({std::int64_t{2}, std::string("b\"\n"), std::numeric_limits<double>::quiet_NaN(), {}});
  return table;
}

TEST(Json, ATableIsColumnsAndRecords) {
  std::string out;
  write_json(two_rows(), [&](std::string_view piece) { out += piece; });
  const Json parsed = Json::parse(out);
  EXPECT_EQ(parsed["columns"], Json({"n", "name", "x", "ok"}));
  EXPECT_EQ(parsed["records"][0], Json({1, "a", 0.5, true}));
  EXPECT_EQ(parsed["records"][1], Json({2, "b\"\n", nullptr, nullptr}));
}

TEST(Json, ADocumentKeepsItsOrderAndPutsARowOnALine) {
  JsonDocument document;
  document.add("schema", "s");
  document.add("version", 1);
  document.add("nested", {{"list", {1, 2, 3}}, {"deep", {{{"a", 1}}, {{"a", 2}}}}});
  document.add_table("columns", "records", two_rows());
  document.add_table("more_columns", "more_records", Table({{"none"}}));
  EXPECT_EQ(text_of(document), R"({
  "schema": "s",
  "version": 1,
  "nested": {
    "list": [1,2,3],
    "deep": [
      {"a":1},
      {"a":2}
    ]
  },
  "columns": ["n","name","x","ok"],
  "records": [
    [1, "a", 0.5, true],
    [2, "b\"\n", null, null]
  ],
  "more_columns": ["none"],
  "more_records": []
}
)");
}

TEST(Json, AMemberCanBeReplacedInItsPlace) {
  JsonDocument document;
  document.add("a", 1);
  document.add("b", 2);
  document.replace("a", "new");
  EXPECT_EQ(text_of(document), "{\n  \"a\": \"new\",\n  \"b\": 2\n}\n");
  EXPECT_THROW(document.replace("c", 3), Error);
}

TEST(Json, AnEmptyDocumentIsAnObject) { EXPECT_EQ(text_of(JsonDocument()), "{}\n"); }

TEST(Json, OnlyFiniteNumbersAreNumbers) {
  EXPECT_EQ(finite_or_null(1.5), Json(1.5));
  EXPECT_EQ(finite_or_null(std::numeric_limits<double>::infinity()), Json(nullptr));
  EXPECT_EQ(to_json(-std::numeric_limits<double>::infinity()), Json(nullptr));
  EXPECT_EQ(to_json(std::numeric_limits<std::int64_t>::max()).dump(), "9223372036854775807");
  EXPECT_EQ(to_json(0.1).dump(), "0.1");
}

TEST(Json, BytesThatAreNotUtf8DoNotStopIt) {
  JsonDocument document;
  document.add("name", "caf\xe9");
  EXPECT_EQ(Json::parse(text_of(document))["name"], "caf\xEF\xBF\xBD");
}

}  // namespace
}  // namespace psgd::report
