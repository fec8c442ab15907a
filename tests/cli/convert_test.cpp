#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Convert : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  /// A safetensors file of one 2 × 2 tensor.
  [[nodiscard]] std::string put(const std::string& name, float first) const {
    const std::string header = R"({"fc.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
    std::string text(1, static_cast<char>(header.size()));
    text += std::string(7, '\0') + header;
    for (int i = 0; i < 4; ++i) {
      const float value = first + static_cast<float>(i);
      text.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    write_file(path(name), text);
    return path(name);
  }

  static void expect_error(const std::vector<std::string>& arguments, int code, const std::string& named) {
    const Outcome outcome = run("psgd-convert", arguments);
    EXPECT_EQ(outcome.code, code) << ::testing::PrintToString(arguments) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("psgd-convert: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(named));
    EXPECT_EQ(count_lines(outcome.err), 1u) << outcome.err;
  }

  TemporaryDirectory folder_;
};

TEST_F(Convert, WhatWasSavedIsReplayed) {
  const Outcome made = run("psgd-convert", {"--output", path("dump.h5"), put("g_step0_rank0.safetensors", 0),
                                            put("g_step0_rank1.safetensors", 2), put("g_step1_rank0.safetensors", 4),
                                            put("g_step1_rank1.safetensors", 8)});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out + made.err, "");
  const Outcome replay = run("psgd-replay", {"--hook", "none", "--csv", "-", path("dump.h5")});
  // The mean over both process ranks: 1 2 3 4 and 6 7 8 9.
  EXPECT_THAT(replay.out, HasSubstr("\n0,fc.weight,0,2,2,false,4,4,5.477225575051661,"));
  EXPECT_THAT(replay.out, HasSubstr("\n1,fc.weight,0,2,2,false,4,4,15.165750888103101,"));
  EXPECT_EQ(run("psgd-convert", {"--output", path("dump.h5"), path("g_step0_rank0.safetensors")}).code, 0)
      << "its own dumps are replaced";
}

TEST_F(Convert, WrongUseIsNamed) {
  const std::string file = put("g_step0.safetensors", 0);
  expect_error({file}, 2, "'--output' is missing");
  expect_error({"--output", path("a.h5")}, 2, "no file was named");
  expect_error({"--output", path("a.h5"), "--key-pattern", "{x}", file}, 2, "'--key-pattern'");
  expect_error({"--output", path("a.h5"), "--order", path("none"), file}, 3, "none");
  expect_error({"--output", path("a.h5"), path("none")}, 3, "none");
  expect_error({"--output", path("none/a.h5"), file}, 3, "none/a.h5: cannot write");
  expect_error({"--output", file, file}, 2, "this is a file to read from");
  std::filesystem::copy_file(repository_file("tests/golden/digits-cnn-f32.h5"), path("real.h5"));
  expect_error({"--output", path("real.h5"), file}, 2, "would replace a recording");
  EXPECT_FALSE(std::filesystem::exists(path("a.h5")));
}

}  // namespace
}  // namespace psgd::test
