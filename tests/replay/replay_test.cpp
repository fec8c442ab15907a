#include "libpsgd/replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/hdf5.hpp"
#include "libpsgd/metrics/relative_error.hpp"
#include "libpsgd/replay/document.hpp"
#include "libpsgd/report/csv.hpp"
#include "tests/dump/raw_hdf5.hpp"
#include "tests/replay/expected.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::replay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ReplaySpec digits() {
  ReplaySpec spec;
  spec.files = {std::filesystem::path(PSGD_SOURCE_DIR) / "datasets" / "digits-vit.h5"};
  spec.power_sgd.matrix_approximation_rank = 2;
  spec.threads = 2;
  return spec;
}

std::string csv(const ReplayResult& result) {
  std::string text;
  report::write_csv(record_table(result), [&](std::string_view piece) { text += piece; });
  return text;
}

/// The error a replay ends with.
template <class Change>
std::string failure(ErrorKind kind, Change change) {
  ReplaySpec spec = digits();
  change(spec);
  try {
    run_replay(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Replay, IsBitIdenticalForEveryNumberOfThreads) {
  for (const Arithmetic arithmetic : {Arithmetic::fused, Arithmetic::per_rank}) {
    std::string first;
    for (const std::size_t threads : {1U, 2U, 3U, 5U}) {
      ReplaySpec spec = digits();
      spec.arithmetic = arithmetic;
      spec.threads = threads;
      const std::string text = csv(run_replay(spec));
      if (first.empty()) first = text;
      EXPECT_EQ(text, first) << threads << " threads";
    }
  }
}

class CutInTwo : public ::testing::TestWithParam<std::tuple<const char*, Arithmetic, bool, compress::Residual>> {};

TEST_P(CutInTwo, GoesOnBitByBit) {
  const auto [hook, arithmetic, warm_start, residual] = GetParam();
  for (const std::int64_t cut : {20, 24}) {
    SCOPED_TRACE(cut);
    const test::TemporaryDirectory scratch;
    ReplaySpec whole = digits();
    whole.hook = hook;
    whole.arithmetic = arithmetic;
    whole.residual = residual;
    whole.power_sgd.warm_start = warm_start;
    whole.state_out = scratch / "whole.h5";
    const ReplayResult all = run_replay(whole);

    ReplaySpec first = whole;
    first.steps = {0, cut};
    first.state_out = scratch / "half.h5";
    const std::string head = csv(run_replay(first));
    ReplaySpec second = whole;
    second.power_sgd = {};  // comes from the state
    second.steps = {cut + 1, 1000};
    second.state_in = scratch / "half.h5";
    second.state_out = scratch / "joined.h5";
    const ReplayResult rest = run_replay(second);

    const std::string tail = csv(rest);
    EXPECT_EQ(head + tail.substr(tail.find('\n') + 1), csv(all));
    EXPECT_EQ(rest.summary.compression_stats.numel_after, all.summary.compression_stats.numel_after);
    EXPECT_EQ(bytes_of(scratch / "joined.h5"), bytes_of(scratch / "whole.h5"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Hooks, CutInTwo,
    ::testing::Values(std::tuple("powersgd", Arithmetic::fused, true, compress::Residual::averaged),
                      std::tuple("powersgd", Arithmetic::per_rank, true, compress::Residual::averaged),
                      std::tuple("powersgd", Arithmetic::per_rank, false, compress::Residual::local),
                      std::tuple("powersgd", Arithmetic::fused, false, compress::Residual::averaged),
                      std::tuple("batched", Arithmetic::fused, true, compress::Residual::averaged),
                      std::tuple("batched", Arithmetic::per_rank, true, compress::Residual::averaged)));

TEST(Replay, StopsBetweenStepsAndSaysSo) {
  ReplaySpec spec = digits();
  const test::TemporaryDirectory scratch;
  spec.output = scratch / "out.h5";
  int looks = 0;
  const ReplayResult result = run_replay(spec, {nullptr, nullptr, [&] { return ++looks > 3; }});
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.steps.size(), 3U);
  EXPECT_EQ(result.records.size(), 3 * result.parameters.size());
  const dump::hdf5::File output = dump::hdf5::File::open(*spec.output);
  EXPECT_EQ(output.read_integer("complete"), 0);
  EXPECT_EQ(output.open_dataset("steps").extents(), Shape{3});
}

TEST(Replay, AStopBeforeTheFirstStepKeepsTheOldFiles) {
  ReplaySpec spec = digits();
  const test::TemporaryDirectory scratch;
  spec.output = scratch / "out.h5";
  spec.state_out = scratch / "state.h5";
  run_replay(spec);
  const std::string output = bytes_of(*spec.output);
  const std::string state = bytes_of(*spec.state_out);
  try {
    run_replay(spec, {nullptr, nullptr, [] { return true; }});
    FAIL() << "not interrupted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  EXPECT_EQ(bytes_of(*spec.output), output);
  EXPECT_EQ(bytes_of(*spec.state_out), state);
}

TEST(Replay, ChoosesStepsRanksAndParameters) {
  ReplaySpec spec = digits();
  spec.steps = {22, 25};
  spec.process_ranks = {1};
  spec.parameters = {"blocks.*"};
  spec.exclude = {"*bias", "*norm*"};
  const ReplayResult result = run_replay(spec);
  EXPECT_THAT(result.steps, ElementsAre(22, 23, 24, 25));
  EXPECT_THAT(result.process_ranks, ElementsAre(1));
  for (const ReplayedParameter& parameter : result.parameters)
    EXPECT_THAT(parameter.name, AllOf(HasSubstr("blocks."), ::testing::Not(HasSubstr("bias"))));
  EXPECT_THAT(csv(result), HasSubstr("residual_norm_rank1"));
}

TEST(Replay, OneProcessRankMeansTheSameInBothArithmetics) {
  ReplaySpec spec = digits();
  spec.process_ranks = {0};
  spec.dtype = DType::float64;
  const ReplayResult fused = run_replay(spec);
  spec.arithmetic = Arithmetic::per_rank;
  const ReplayResult per_rank = run_replay(spec);
  ASSERT_EQ(fused.records.size(), per_rank.records.size());
  for (std::size_t i = 0; i < fused.records.size(); ++i) {
    EXPECT_NEAR(metrics::relative_error(fused.records[i].measurement),
                metrics::relative_error(per_rank.records[i].measurement), 1e-10);
    EXPECT_NEAR(fused.records[i].residual_norms[0], per_rank.records[i].residual_norms[0], 1e-10);
  }
}

TEST(Replay, RefusesWhatDoesNotFit) {
  const auto usage = [](auto change) { return failure(ErrorKind::usage, change); };
  const auto input = [](auto change) { return failure(ErrorKind::input, change); };
  EXPECT_THAT(usage([](ReplaySpec& spec) { spec.hook = "zip"; }),
              HasSubstr("unknown hook \"zip\" (known: powersgd, batched, original, none"));
  EXPECT_THAT(usage([](ReplaySpec& spec) { spec.orthogonalization = "svd"; }),
              HasSubstr("unknown orthogonalization \"svd\""));
  EXPECT_THAT(usage([](ReplaySpec& spec) { spec.parameters = {"nothing*"}; }),
              HasSubstr("--parameters: \"nothing*\" matches no parameter"));
  EXPECT_THAT(usage([](ReplaySpec& spec) { spec.exclude = {"*"}; }), HasSubstr("leave no parameter"));
  EXPECT_THAT(usage([](ReplaySpec& spec) { spec.process_ranks = {0, 0}; }), HasSubstr("names 0 twice"));
  EXPECT_THAT(usage([](ReplaySpec& spec) { spec.power_sgd.start_powerSGD_iter = 0; }),
              HasSubstr("Expect `start_powerSGD_iter` > 1"));
  EXPECT_THAT(input([](ReplaySpec& spec) {
                spec.process_ranks = {0, 7};
              }),
              HasSubstr("process rank 7 was not recorded"));
  EXPECT_THAT(input([](ReplaySpec& spec) {
                spec.steps = {500, 600};
              }),
              AllOf(HasSubstr("500:600"), HasSubstr("20 to 31")));
  EXPECT_THAT(failure(ErrorKind::unavailable, [](ReplaySpec& spec) { spec.backend = "cuda"; }),
              HasSubstr("cuda module is not available"));
  EXPECT_THAT(failure(ErrorKind::unavailable, [](ReplaySpec& spec) { spec.transport = "mpi"; }),
              HasSubstr("mpi module is not available"));
  EXPECT_THAT(failure(ErrorKind::unavailable, [](ReplaySpec& spec) { spec.memory_limit = 1 << 20; }),
              HasSubstr("too small"));
  EXPECT_THAT(usage([](ReplaySpec& spec) {
                spec.residual = compress::Residual::local;
                spec.arithmetic = Arithmetic::fused;
              }),
              HasSubstr("--residual local needs --arithmetic per-rank"));
}

TEST(Replay, LocalErrorMemoriesAreNeverTakenForSums) {
  for (const char* hook : {"random-k", "acp-sgd", "top-k"}) {
    ReplaySpec spec = digits();
    spec.hook = hook;
    EXPECT_EQ(run_replay(spec).resolved.arithmetic, Arithmetic::per_rank) << hook;
    EXPECT_THAT(failure(ErrorKind::usage,
                        [&](ReplaySpec& fused) {
                          fused.hook = hook;
                          fused.arithmetic = Arithmetic::fused;
                        }),
                HasSubstr("needs --arithmetic per-rank"));
  }
}

void save_state_after_step_24(const std::filesystem::path& path) {
  ReplaySpec saved = digits();
  saved.state_out = path;
  saved.steps = {20, 24};
  run_replay(saved);
}

TEST(State, LoadsOnlyWhereItBelongs) {
  const test::TemporaryDirectory scratch;
  save_state_after_step_24(scratch / "state.h5");
  const auto refused = [&](auto change) {
    return failure(ErrorKind::input, [&](ReplaySpec& spec) {
      spec.state_in = scratch / "state.h5";
      change(spec);
    });
  };
  EXPECT_THAT(refused([](ReplaySpec& spec) { spec.arithmetic = Arithmetic::per_rank; }),
              HasSubstr("arithmetic differs"));
  EXPECT_THAT(refused([](ReplaySpec& spec) { spec.dtype = DType::float64; }), HasSubstr("dtype differs"));
  EXPECT_THAT(refused([](ReplaySpec& spec) { spec.process_ranks = {0}; }), HasSubstr("world_size differs"));
  EXPECT_THAT(refused([](ReplaySpec& spec) { spec.hook = "batched"; }), HasSubstr("hook differs"));
  EXPECT_THAT(refused([](ReplaySpec& spec) { spec.parameters = {"stem*"}; }), HasSubstr("bucket"));
  EXPECT_THAT(refused([](ReplaySpec& spec) {
                spec.power_sgd.matrix_approximation_rank = 5;
                spec.given = {"matrix_approximation_rank"};
              }),
              HasSubstr("matrix_approximation_rank differs"));
  EXPECT_THAT(failure(ErrorKind::input, [&](ReplaySpec& spec) { spec.state_in = spec.files.front(); }),
              HasSubstr("not a state file"));
}

TEST(State, BelongsToItsProcessRanks) {
  const test::TemporaryDirectory scratch;
  save_state_after_step_24(scratch / "state.h5");
  EXPECT_THAT(failure(ErrorKind::input,
                      [&](ReplaySpec& spec) {
                        spec.state_in = scratch / "state.h5";
                        spec.process_ranks = {1, 0};
                      }),
              HasSubstr("process_ranks differs: the state was saved with 0,1, this replay has 1,0"));
}

TEST(State, ThatIsNotSoundIsRefused) {
  const test::TemporaryDirectory scratch;
  save_state_after_step_24(scratch / "sound.h5");
  const auto after = [&](const std::function<void(hid_t)>& change) {
    std::filesystem::copy_file(scratch / "sound.h5", scratch / "state.h5",
                               std::filesystem::copy_options::overwrite_existing);
    test::raw::modify(scratch / "state.h5", change);
    const std::string message = failure(ErrorKind::input, [&](ReplaySpec& spec) {
      spec.state_in = scratch / "state.h5";
      spec.steps = {25, 31};
    });
    EXPECT_THAT(message, ::testing::StartsWith((scratch / "state.h5").string()));
    return message;
  };
  const auto with_integer = [&](const char* name, int value) {
    return after([=](hid_t file) { test::raw::set_integer(file, name, value); });
  };
  for (const char* name : {"iter", "matrix_approximation_rank", "start_powerSGD_iter", "random_seed",
                           "total_numel_before_compression", "total_numel_after_compression", "use_error_feedback"}) {
    EXPECT_THAT(with_integer(name, -5), HasSubstr(name)) << name;
  }
  EXPECT_THAT(with_integer("warm_start", 7), HasSubstr("warm_start is 7"));
  const auto with_number = [&](const char* name, double value) {
    return after([=](hid_t file) { test::raw::set_attribute(file, name, H5T_NATIVE_DOUBLE, {}, &value); });
  };
  for (const double value : {-1.0, double{NAN}, double{INFINITY}}) {
    EXPECT_THAT(with_number("orthogonalization_epsilon", value), HasSubstr("orthogonalization_epsilon"));
    EXPECT_THAT(with_number("min_compression_rate", value), HasSubstr("min_compression_rate"));
  }
  EXPECT_THAT(after([](hid_t file) { test::raw::set_text(file, "dtype", "int8"); }), HasSubstr("dtype \"int8\""));
  for (const char* name : {"mean_error/0", "deviation/0", "p_memory/0", "q_memory/0"}) {
    EXPECT_THAT(after([&](hid_t file) { test::raw::ok(H5Ldelete(file, name, H5P_DEFAULT)); }), HasSubstr("it has /"))
        << name;
  }
  EXPECT_THAT(after([](hid_t file) {
                test::raw::set_integer(test::raw::ok(H5Dopen2(file, "rng", H5P_DEFAULT)), "position", 700);
              }),
              HasSubstr("the position in /rng is 700"));
}

TEST(Document, HasWhatTheContractSays) {
  ReplaySpec spec = digits();
  const ReplayResult result = run_replay(spec);
  std::string text;
  document(result).write([&](std::string_view piece) { text += piece; });
  const report::Json json = report::Json::parse(text);
  EXPECT_EQ(json["schema"], "psgd-replay");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["config"]["use_error_feedback"], true);
  EXPECT_EQ(json["dump"]["numel"], 40106);
  EXPECT_EQ(json["records"].size(), result.records.size());
  const std::vector<std::string> columns = json["columns"];
  EXPECT_THAT(std::vector<std::string>(columns.begin(), columns.begin() + 14),
              ElementsAre("step", "parameter", "bucket", "rows", "cols", "compressed", "numel_before", "numel_after",
                          "gradient_norm", "averaged_norm", "relative_error", "cosine", "residual_norm_rank0",
                          "residual_norm_rank1"));
  for (const auto& record : json["records"]) EXPECT_EQ(record.size(), columns.size());
}

}  // namespace
}  // namespace psgd::replay
