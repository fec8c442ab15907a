#include "libpsgd/dump/text.hpp"

#include <gtest/gtest.h>

namespace psgd::dump {
namespace {

TEST(Text, LetsUtf8Through) {
  for (const std::string_view text : {"", "conv1.weight", "größe", "重み", "😀", "a b"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(make_printable(text), text);
  }
}

TEST(Text, MarksWhatCouldSpoilATerminalALineOrJson) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a\nb", "a?b"},
      {"\x1b[31m", "?[31m"},
      {"a\0b"sv, "a?b"},
      {"\x7f", "?"},
      {"\xff", "?"},
      {"\xc3", "?"},            // cut off
      {"\xc0\xaf", "??"},       // overlong
      {"\xed\xa0\x80", "???"},  // a surrogate
      {"\xf5\x80\x80\x80", "????"},
      {"\xc2\x9b", "??"},       // a control character of Latin-1
      {"\xe2\x80\xa8", "???"},  // line separator
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_FALSE(is_printable(text)) << expected;
    EXPECT_EQ(make_printable(text), expected);
  }
}

}  // namespace
}  // namespace psgd::dump
