#include "libpsgd/report/escape.hpp"

#include <gtest/gtest.h>

#include <string>

namespace psgd::report {
namespace {

using namespace std::string_literals;

TEST(EscapeControl, PlainTextAndUtf8Stay) {
  EXPECT_EQ(escape_control(""), "");
  EXPECT_EQ(escape_control("layer1.0.weight\\x"), "layer1.0.weight\\x");
  EXPECT_EQ(escape_control("Größe ≥ 1 🙂"), "Größe ≥ 1 🙂");
}

TEST(EscapeControl, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(escape_control("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(escape_control("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(escape_control("nul\0!"s), "nul\\x00!");
  EXPECT_EQ(escape_control("\x7f"), "\\x7f");
  EXPECT_EQ(escape_control("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control sequence introducer";
}

TEST(EscapeControl, BytesThatAreNotUtf8AreSpelledOut) {
  EXPECT_EQ(escape_control("\xff"), "\\xff");
  EXPECT_EQ(escape_control("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(escape_control("\xe2\x82"), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(escape_control("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(escape_control("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong";
  EXPECT_EQ(escape_control("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(escape_control("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond U+10FFFF";
}

TEST(DisplayWidth, CountsCodePoints) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("Größe ≥"), 7u);
}

}  // namespace
}  // namespace psgd::report
