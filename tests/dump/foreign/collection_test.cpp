#include "libpsgd/dump/foreign/collection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dump/foreign/foreign_maker.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump::foreign {
namespace {

using test::bytes_of;
using test::npy;
using test::put_zip;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KeyPattern, TakesAKeyApart) {
  const KeyPattern pattern("step_{step}/rank{rank}/{name}");
  const auto parts = pattern.match("step_0012/rank3/layer1/weight");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->step, 12);
  EXPECT_EQ(parts->rank, 3);
  EXPECT_EQ(parts->name, "layer1/weight");
  EXPECT_FALSE(pattern.match("step_x/rank3/w"));
  EXPECT_FALSE(pattern.match("step_1/rank3/"));
  EXPECT_FALSE(pattern.match("xstep_1/rank3/w"));
  EXPECT_TRUE(KeyPattern("{any}.{step}.npz").match("a.b+(c).7.npz")) << "everything else stands for itself";
  EXPECT_FALSE(KeyPattern("a.{step}").match("ab7"));
}

TEST(KeyPattern, RefusesWhatIsNoPattern) {
  for (const char* text : {"", "{x}", "{step}{step}", "{step", "{}"}) EXPECT_THROW(KeyPattern{text}, Error) << text;
  EXPECT_THROW(static_cast<void>(KeyPattern("{step}").match("99999999999999999999")), Error);
}

class Collected : public ::testing::Test {
 protected:
  /// An archive of arrays [2], whose values begin with `first`.
  std::filesystem::path put(const std::string& file, const std::vector<std::string>& keys, float first = 0) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& key : keys) {
      entries.emplace_back(key + ".npy", npy("<f4", "(2,)", bytes_of(std::vector<float>{first, first + 0.5F})));
      ++first;
    }
    put_zip(folder_ / file, entries);
    return folder_ / file;
  }

  static std::string refused(const std::vector<std::filesystem::path>& files, const CollectionOptions& options = {}) {
    try {
      const Collection collection(files, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  test::TemporaryDirectory folder_;
};

TEST_F(Collected, AFileForEachStepAndRank) {
  Collection all({put("s_step10.rank1.npz", {"w", "b"}, 30), put("s_step2.rank0.npz", {"w", "b"}, 0),
                  put("s_step10.rank0.npz", {"w", "b"}, 20), put("s_step2.rank1.npz", {"b", "w"}, 10)},
                 {});
  EXPECT_THAT(all.steps(), ElementsAre(2, 10));
  EXPECT_EQ(all.world_size(), 2);
  ASSERT_EQ(all.parameters().size(), 2U);
  EXPECT_EQ(all.parameters()[0].name, "w");
  EXPECT_EQ(all.pattern(), "{name}");
  std::vector<float> values;
  all.read(1, 1, 0, values);
  EXPECT_THAT(values, ElementsAre(30, 30.5));
  all.read(0, 1, 0, values);
  EXPECT_THAT(values, ElementsAre(11, 11.5)) << "by name, not by place";
  all.read(0, 0, 1, values);
  EXPECT_THAT(values, ElementsAre(1, 1.5));
}

TEST_F(Collected, KeysThatSayAll) {
  Collection all({put("x.npz", {"step_1/rank_0/a/w", "step_1/rank_1/a/w"})}, {});
  EXPECT_EQ(all.pattern(), "step_{step}/rank_{rank}/{name}");
  EXPECT_EQ(all.parameters()[0].name, "a.w");
  CollectionOptions keep;
  keep.slashes_to_dots = false;
  EXPECT_EQ(Collection({folder_ / "x.npz"}, keep).parameters()[0].name, "a/w");
}

TEST_F(Collected, PatternsAndAnOrderOfOnesOwn) {
  CollectionOptions options;
  options.key_pattern.emplace("g.{name}@{step}");
  options.order = {"b", "a"};
  Collection all({put("x.npz", {"g.a@5", "g.b@5"})}, options);
  EXPECT_THAT(all.steps(), ElementsAre(5));
  EXPECT_EQ(all.parameters()[0].name, "b");
  options.order = {"b"};
  EXPECT_THAT(refused({folder_ / "x.npz"}, options), HasSubstr("\"a\" is not in the order"));
  options.order = {"b", "a", "c"};
  EXPECT_THAT(refused({folder_ / "x.npz"}, options), HasSubstr("\"c\" is in the order"));
  options.order = {"b", "a", "a"};
  EXPECT_THAT(refused({folder_ / "x.npz"}, options), HasSubstr("twice"));
  CollectionOptions named;
  named.file_pattern.emplace("{any}-{step}.npz");
  EXPECT_EQ(refused({put("job-3.npz", {"w"})}, named), "accepted");
  EXPECT_THAT(refused({put("job.npz", {"w"})}, named), HasSubstr("its name is not of the pattern"));
}

TEST_F(Collected, WhatDoesNotFitTogether) {
  EXPECT_THAT(refused({put("a.npz", {"w"})}), HasSubstr("nothing tells the step"));
  EXPECT_THAT(refused({put("step1.npz", {"w", "b"}), put("step2.npz", {"w"})}), HasSubstr("no \"b\" of step 2"));
  EXPECT_THAT(refused({put("step1.rank0.npz", {"w"}), put("step1.rank2.npz", {"w"})}),
              HasSubstr("process ranks up to 2"));
  EXPECT_THAT(refused({put("a_step1.npz", {"w"}), put("b_step1.npz", {"w"})}), HasSubstr("the same gradient as"));
  put_zip(folder_ / "step3.npz", {{"w.npy", npy("<f8", "(2,)", bytes_of(std::vector<double>{1, 2}))}});
  EXPECT_THAT(refused({put("step1.npz", {"w"}), folder_ / "step3.npz"}), HasSubstr("float64 of [2] where"));
  put_zip(folder_ / "empty_step1.npz", {{"w.npy", npy("<f4", "(0,)", "")}});
  EXPECT_EQ(refused({folder_ / "empty_step1.npz"}), "accepted");
}

}  // namespace
}  // namespace psgd::dump::foreign
