#include "libpsgd/report/quantity.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace psgd::report {
namespace {

TEST(Quantity, CountsAreGroupedByThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(-123456), "-123,456");
}

TEST(Quantity, NounsFollowTheirCount) {
  EXPECT_EQ(plural(1, "step"), "1 step");
  EXPECT_EQ(plural(0, "step"), "0 steps");
  EXPECT_EQ(plural(2000, "step"), "2,000 steps");
}

TEST(Quantity, BytesTakeTheLargestUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{300} << 20), "300 MiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(Quantity, SecondsTakeTheUnitThatShowsThem) {
  EXPECT_EQ(seconds_text(12.345), "12.3 s");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(1.5e-6), "1.5 µs");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(std::numeric_limits<double>::quiet_NaN()), "-");
}

TEST(Quantity, FactsAreAligned) {
  std::string out;
  write_facts({{"Steps", "8"}, {"Größe", "1\n2"}, {"Process ranks", "2"}},
              [&](std::string_view piece) { out += piece; });
  EXPECT_EQ(out,
            "Steps          8\n"
            "Größe          1\\n2\n"
            "Process ranks  2\n");
}

}  // namespace
}  // namespace psgd::report
