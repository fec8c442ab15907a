#include "tools/common/values.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace psgd::tools {
namespace {

using ::testing::ElementsAre;

template <class Parse>
std::string complaint(Parse parse) {
  try {
    parse();
  } catch (const BadValue& error) {
    return error.what();
  }
  return "";
}

TEST(ParseInteger, TakesDecimalIntegersInRange) {
  EXPECT_EQ(parse_integer("0", 0, 10), 0);
  EXPECT_EQ(parse_integer("10", 0, 10), 10);
  EXPECT_EQ(parse_integer("-3", -5, 5), -3);
}

TEST(ParseInteger, RefusesEverythingElse) {
  for (const char* text : {"", " 1", "1 ", "1.0", "1e3", "0x10", "+1", "four", "--1", "1,2"}) {
    EXPECT_EQ(complaint([&] { parse_integer(text, 0, 10); }), fmt::format("'{}' is not an integer", text)) << text;
  }
  EXPECT_EQ(complaint([] { parse_integer("-1", 0, 10); }), "-1 is not between 0 and 10");
  EXPECT_EQ(complaint([] { parse_integer("11", 0, 10); }), "11 is not between 0 and 10");
  EXPECT_EQ(complaint([] { parse_integer("0", 1, std::numeric_limits<std::int64_t>::max()); }),
            "0 is too small, the least is 1");
  EXPECT_NE(complaint([] { parse_integer("99999999999999999999", 0, 10); }), "");
}

TEST(ParseNumber, TakesFiniteNumbers) {
  EXPECT_EQ(parse_number("0.5", 0), 0.5);
  EXPECT_EQ(parse_number("1e-8", 0), 1e-8);
  EXPECT_EQ(parse_number("3", 0), 3.0);
}

TEST(ParseNumber, RefusesEverythingElse) {
  for (const char* text : {"", "x", "1x", "1 ", "0,5", "nan", "inf", "1e999", "-1"}) {
    EXPECT_NE(complaint([&] { parse_number(text, 0); }), "") << text;
  }
}

TEST(ParseOnOff, TakesOnlyOnAndOff) {
  EXPECT_TRUE(parse_on_off("on"));
  EXPECT_FALSE(parse_on_off("off"));
  for (const char* text : {"", "true", "1", "ON", "yes"}) {
    EXPECT_EQ(complaint([&] { parse_on_off(text); }), fmt::format("'{}' is neither on nor off", text));
  }
}

TEST(ParseSize, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_size("1"), 1u);
  EXPECT_EQ(parse_size("1e9"), 1'000'000'000u);
  EXPECT_EQ(parse_size("512MiB"), std::uint64_t{512} << 20);
  EXPECT_EQ(parse_size("4G"), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_size("4GB"), 4'000'000'000u);
  EXPECT_EQ(parse_size("1.5k"), 1536u);
  EXPECT_EQ(parse_size("2kb"), 2000u);
  EXPECT_EQ(parse_size("3TiB"), std::uint64_t{3} << 40);
  EXPECT_EQ(parse_size("7B"), 7u);
}

TEST(ParseSize, RefusesEverythingElse) {
  for (const char* text :
       {"", "G", "4 G", "4X", "-1", "0", "0.5", "4GiBs", "1e30", "8388608T", "nan", "inf", "1e9999"}) {
    EXPECT_NE(complaint([&] { parse_size(text); }), "") << text;
  }
}

TEST(ParseIntegerList, TakesNumbersAndRanges) {
  EXPECT_THAT(parse_integer_list("3"), ElementsAre(3));
  EXPECT_THAT(parse_integer_list("5,0,2"), ElementsAre(5, 0, 2));
  EXPECT_THAT(parse_integer_list("0:3,7"), ElementsAre(0, 1, 2, 3, 7));
}

TEST(ParseIntegerList, RefusesEverythingElse) {
  for (const char* text : {"", ",", "1,", "a", "1:2:3", "3:1", "-1", "1,1", "0:3,2", "0:99999999999", ":3"}) {
    EXPECT_NE(complaint([&] { parse_integer_list(text); }), "") << text;
  }
}

TEST(ParseRange, EitherEndMayBeLeftOut) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parse_range("2:7"), (std::pair<std::int64_t, std::int64_t>(2, 7)));
  EXPECT_EQ(parse_range("2:"), (std::pair<std::int64_t, std::int64_t>(2, last)));
  EXPECT_EQ(parse_range(":7"), (std::pair<std::int64_t, std::int64_t>(0, 7)));
  EXPECT_EQ(parse_range("5"), (std::pair<std::int64_t, std::int64_t>(5, 5)));
}

TEST(ParseRange, RefusesEverythingElse) {
  for (const char* text : {"", ":", "7:2", "a:b", "1:2:3", "-1:2", "1-2"}) {
    EXPECT_NE(complaint([&] { parse_range(text); }), "") << text;
  }
}

TEST(ParseGlobs, SplitsAtCommasThatAreNotEscaped) {
  EXPECT_THAT(parse_globs("*.bias"), ElementsAre("*.bias"));
  EXPECT_THAT(parse_globs("a*,b?,[cd]"), ElementsAre("a*", "b?", "[cd]"));
  EXPECT_THAT(parse_globs("a\\,b,c"), ElementsAre("a\\,b", "c"));
  for (const char* text : {"", ",", "a,", ",a", "a,,b"}) {
    EXPECT_NE(complaint([&] { parse_globs(text); }), "") << text;
  }
}

TEST(ParseChoice, NamesTheChoices) {
  EXPECT_EQ(parse_choice("b", {"a", "b", "c"}), "b");
  EXPECT_EQ(complaint([] { parse_choice("d", {"a", "b", "c"}); }), "'d' is not a, b or c");
}

}  // namespace
}  // namespace psgd::tools
