#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/reader.hpp"
#include "tests/dump/dump_maker.hpp"
#include "tests/dump/raw_hdf5.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump {

namespace fs = std::filesystem;
namespace raw = test::raw;

/// A sound dump of three steps and two process ranks, to be spoilt.
class BadInput : public testing::Test {
 protected:
  void SetUp() override { write_sound_file(); }

  void write_sound_file() {
    path_ = directory_ / "dump.h5";
    fs::remove(path_);
    WriterOptions options;
    options.world_size = 2;
    options.parameters = {test::parameter("conv", {4, 3, 2, 2}), test::parameter("fc", {9, 5}),
                          test::parameter("bias", {6})};
    test::write_dump(path_, options, {0, 1, 2});
  }

  // What opening the file and reading all of it says.
  std::string message(const ReaderOptions& options = {}) {
    try {
      Reader reader({path_}, options);
      const GradientLayout layout = test::layout_all(reader.description());
      for (std::size_t step = 0; step < reader.description().steps.size(); ++step) {
        test::read_step<float>(reader, step, layout, reader.description().process_ranks);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_THAT(error.what(), testing::StartsWith(path_.string()));
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
      return error.what();
    }
    return "accepted";
  }

  std::string after(const std::function<void(hid_t)>& change) {
    raw::modify(path_, change);
    return message();
  }

  // Puts other gradients in the place of "fc".
  std::string with_fc(hid_t type, const raw::Form& form, const void* values = nullptr, hid_t memory = H5T_NATIVE_FLOAT,
                      const char* dtype = "float32") {
    return after([&](hid_t file) {
      const hid_t dataset = raw::replace_dataset(file, "gradients/fc", type, form);
      raw::describe(dataset, "fc", dtype);
      if (values != nullptr) raw::write_all(dataset, memory, values);
    });
  }

  test::TemporaryDirectory directory_;
  fs::path path_;
};

}  // namespace psgd::dump
