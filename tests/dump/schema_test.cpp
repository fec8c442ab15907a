#include "libpsgd/dump/schema.hpp"

#include <gtest/gtest.h>

namespace psgd::dump::schema {
namespace {

TEST(Schema, EscapesNamesThatHdf5CannotHold) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"conv1.weight", "conv1.weight"},
      {"a/b", "a%2Fb"},
      {"50%", "50%25"},
      {".", "%2E"},
      {"..", "%2E%2E"},
      {"...", "..."},
      {"", "%"},
      {"%", "%25"},
  };
  for (const auto& [name, link] : cases) EXPECT_EQ(link_name(name), link);
}

TEST(Schema, SharesAChunkAmongStepsOfASmallTensor) {
  EXPECT_EQ(chunk_extents({10}, 4, false), (Shape{16, 1, 10}));
  EXPECT_EQ(chunk_extents({}, 4, false), (Shape{16, 1}));
  EXPECT_EQ(chunk_extents({0, 3}, 4, false), (Shape{16, 1, 1, 3}));
  EXPECT_EQ(chunk_extents({8000}, 4, false), (Shape{2, 1, 8000}));
  EXPECT_EQ(chunk_extents({10}, 4, false, 100), (Shape{2, 1, 10}));
  EXPECT_EQ(chunk_extents({10}, 4, false, 10), (Shape{1, 1, 10}));
}

TEST(Schema, GivesATensorAChunkAndCutsLargeOnes) {
  EXPECT_EQ(chunk_extents({512, 256}, 4, false), (Shape{1, 1, 512, 256}));
  EXPECT_EQ(chunk_extents({2048, 1024}, 4, false), (Shape{1, 1, 1024, 1024}));
  EXPECT_EQ(chunk_extents({2048, 1024}, 4, true), (Shape{1, 1, 256, 1024}));
  EXPECT_EQ(chunk_extents({50257, 768}, 4, false), (Shape{1, 1, 1359, 768}));
  EXPECT_EQ(chunk_extents({1, 8 << 20}, 4, false), (Shape{1, 1, 1, 1 << 20}));
}

}  // namespace
}  // namespace psgd::dump::schema
