#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/replay/document.hpp"
#include "libpsgd/replay/spectrum_document.hpp"
#include "libpsgd/replay/sweep.hpp"
#include "libpsgd/report/csv.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::replay {
namespace {

using ::testing::HasSubstr;

ReplaySpec digits() {
  ReplaySpec spec;
  spec.files = {std::filesystem::path(PSGD_SOURCE_DIR) / "datasets" / "digits-vit.h5"};
  spec.threads = 2;
  return spec;
}

/// Every hook, two starts, two ranks where they matter, both arithmetics of the linear ones: several passes.
std::vector<ReplaySpec> everything() {
  std::vector<ReplaySpec> specs;
  for (const compress::HookEntry& hook : compress::hooks()) {
    Grid grid;
    grid.hook = {std::string(hook.name)};
    if (hook.has_power_sgd_state) {
      grid.matrix_approximation_rank = {1, 3};
      grid.start_powerSGD_iter = {2, 4};
      grid.warm_start = {true, false};
      grid.arithmetic = {Arithmetic::fused, Arithmetic::per_rank};
    }
    for (ReplaySpec& spec : expand(digits(), grid)) specs.push_back(std::move(spec));
  }
  return specs;
}

/// Everything a sweep found, times aside.
std::string found(const SweepResult& sweep) {
  std::string text;
  for (const ConfigurationResult& configuration : sweep.configurations) {
    Summary summary = configuration.summary;
    summary.seconds_per_step = summary.seconds_compressing = summary.seconds_read = summary.seconds_total = 0;
    text += configuration.label + summary_json(summary).dump();
    for (const ParameterSummary& parameter : configuration.parameters) {
      text += fmt::format(" {} {} {} {}", parameter.mean_relative_error, parameter.mean_difference_sq,
                          parameter.numel_after, parameter.mean_bytes_sent);
      for (const double norm : parameter.last_residual_norms) text += fmt::format(" {}", norm);
    }
    for (const model::BucketCost& cost : configuration.buckets) text += fmt::format(" {}", cost.sent_bytes());
  }
  if (sweep.spectrum) {
    text += spectrum_json(sweep).dump();
    report::format("csv").write(spectrum_table(sweep), [&](std::string_view piece) { text += piece; });
  }
  return text;
}

class Resume : public ::testing::Test {
 protected:
  [[nodiscard]] SweepRequest request(bool with_file = true) const {
    SweepRequest request;
    request.spectrum.every = 3;
    if (with_file) request.resume = file();
    request.checkpoint_seconds = 0;
    return request;
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "sweep.state"; }

  template <class Action>
  static std::string input_error(Action action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "no error";
  }

  test::TemporaryDirectory folder_;
};

TEST_F(Resume, GoesOnWithTheSameResultsWhereverItWasStopped) {
  const auto specs = everything();
  const SweepResult whole = run_sweep(specs, {}, request(false));
  ASSERT_GT(whole.passes, 1U);
  const std::string expected = found(whole);
  for (const int stop : {4, 20}) {
    SCOPED_TRACE(stop);
    std::filesystem::remove(file());
    int looks = 0;
    SweepRequest rarely = request();
    rarely.checkpoint_seconds = 3600;  // the stop itself writes
    const SweepResult first = run_sweep(specs, {nullptr, nullptr, [&] { return ++looks > stop; }}, rarely);
    EXPECT_FALSE(first.complete);
    const SweepResult second = run_sweep(specs, {}, rarely);
    EXPECT_TRUE(second.complete);
    EXPECT_EQ(second.passes, whole.passes);
    EXPECT_EQ(found(second), expected);
  }
}

TEST_F(Resume, GoesOnFromTheLastStepWhenTheSweepBroke) {
  Grid grid;
  grid.hook = {"powersgd", "top-k"};
  const auto specs = expand(digits(), grid);
  int looks = 0;
  const auto breaks = [&]() -> bool {
    if (++looks > 7) throw Error::internal("broken");
    return false;
  };
  EXPECT_THROW(run_sweep(specs, {nullptr, nullptr, breaks}, request()), Error);
  looks = 0;
  const auto counts = [&] { return ++looks < 0; };
  const SweepResult second = run_sweep(specs, {nullptr, nullptr, counts}, request());
  EXPECT_EQ(looks, 12 - 7 + 1);
  EXPECT_EQ(found(second), found(run_sweep(specs, {}, request(false))));
}

TEST_F(Resume, ManyShortRunsAddUpToALongOne) {
  Grid grid;
  grid.matrix_approximation_rank = {1, 2};
  const auto specs = expand(digits(), grid);
  SweepResult last;
  int runs = 0;
  do {
    int looks = 0;
    last = run_sweep(specs, {nullptr, nullptr, [&] { return ++looks > 1; }}, request());
  } while (++runs < 30 && !last.complete);
  EXPECT_TRUE(last.complete);
  EXPECT_EQ(runs, 13);  // a step each, and one that only finds the end
  EXPECT_EQ(found(last), found(run_sweep(specs, {}, request(false))));
}

TEST_F(Resume, AFinishedSweepIsOnlyJudgedAnew) {
  Grid grid;
  grid.matrix_approximation_rank = {1, 2};
  const auto specs = expand(digits(), grid);
  const SweepResult first = run_sweep(specs, {}, request());
  const SweepResult again = run_sweep(specs, {nullptr, nullptr, [] { return true; }}, request());
  EXPECT_TRUE(again.complete);  // nobody looked whether to stop: there was nothing to do
  EXPECT_EQ(found(again), found(first));
  EXPECT_EQ(again.configurations[0].summary.seconds_per_step, first.configurations[0].summary.seconds_per_step);
}

TEST_F(Resume, AnotherSweepsFileIsRefusedNamingWhatDiffers) {
  Grid grid;
  grid.matrix_approximation_rank = {1, 2};
  run_sweep(expand(digits(), grid), {}, request());
  grid.matrix_approximation_rank = {1, 3};
  EXPECT_THAT(input_error([&] { run_sweep(expand(digits(), grid), {}, request()); }),
              HasSubstr("belongs to another sweep: configurations differ"));
  grid.matrix_approximation_rank = {1, 2};
  ReplaySpec fewer = digits();
  fewer.steps = {20, 25};
  EXPECT_THAT(input_error([&] { run_sweep(expand(fewer, grid), {}, request()); }), HasSubstr("steps differ"));
  SweepRequest other = request();
  other.spectrum.every = 1;
  EXPECT_THAT(input_error([&] { run_sweep(expand(digits(), grid), {}, other); }), HasSubstr("analyses differ"));
}

TEST_F(Resume, WhatIsNoStateOfASweepIsRefused) {
  Grid grid;
  grid.matrix_approximation_rank = {1, 2};
  const auto specs = expand(digits(), grid);
  std::ofstream(file()) << "no HDF5";
  EXPECT_THAT(input_error([&] { run_sweep(specs, {}, request()); }), HasSubstr("sweep.state"));
  std::filesystem::remove(file());
  std::filesystem::copy_file(digits().files.front(), file());
  EXPECT_THAT(input_error([&] { run_sweep(specs, {}, request()); }), HasSubstr("not the state of a sweep"));
  std::filesystem::remove(file());
  {
    auto damaged = dump::hdf5::File::create(file());
    damaged.write_string("format", "psgd-sweep-state");
    damaged.write_integer("format_version", 1);
    const std::vector<std::uint8_t> bytes(20, 255);
    damaged.write("results", std::span<const std::uint8_t>(bytes), {20});
    damaged.close();
  }
  EXPECT_THAT(input_error([&] { run_sweep(specs, {}, request()); }), HasSubstr("damaged"));
}

}  // namespace
}  // namespace psgd::replay
