#include "libpsgd/dump/crew.hpp"

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

namespace psgd::dump {
namespace {

class Crews : public testing::TestWithParam<std::size_t> {};

TEST_P(Crews, RunEveryPieceOfWork) {
  Crew crew(GetParam(), 1 << 20);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::atomic<int>> runs(500);
    for (std::atomic<int>& run : runs) {
      Crew::Lease lease = crew.take(1000);
      crew.submit(lease, [&run](Crew::Bench& bench) {
        bench.raw.reserve(1000)[999] = std::byte{1};
        ++run;
      });
    }
    crew.finish();
    for (const std::atomic<int>& run : runs) EXPECT_EQ(run, 1);
  }
}

TEST_P(Crews, HoldNoMoreThanTheirBudgetAtOnce) {
  constexpr std::size_t budget = 1000;
  Crew crew(GetParam(), budget);
  std::atomic<std::size_t> held{0};
  std::atomic<std::size_t> most{0};
  for (std::size_t i = 0; i < 300; ++i) {
    const std::size_t bytes = i % 7 == 0 ? 2500 : 300;  // more than the budget has to go alone
    Crew::Lease lease = crew.take(bytes);
    const std::size_t now = held += bytes;
    if (bytes > budget) {
      EXPECT_EQ(now, bytes);
    } else {
      most = std::max(most.load(), now);
    }
    crew.submit(lease, [&held, bytes](Crew::Bench&) { held -= bytes; });
  }
  crew.finish();
  EXPECT_LE(most.load(), budget);
}

TEST_P(Crews, RethrowTheFirstFailureAndGoOn) {
  Crew crew(GetParam(), 1 << 20);
  for (int i = 0; i < 50; ++i) {
    Crew::Lease lease = crew.take(10);
    crew.submit(lease, [i](Crew::Bench&) {
      if (i == 20) throw std::runtime_error("twenty");
    });
  }
  EXPECT_THROW(crew.finish(), std::runtime_error);
  int runs = 0;
  Crew::Lease lease = crew.take(10);
  crew.submit(lease, [&](Crew::Bench&) { ++runs; });
  crew.finish();
  EXPECT_EQ(runs, 1);
}

TEST_P(Crews, TakeBackWhatWasNotSubmitted) {
  Crew crew(GetParam(), 1000);
  for (int i = 0; i < 100; ++i) const Crew::Lease lease = crew.take(900);
  crew.finish();
}

TEST_P(Crews, AbandonWhatIsNotBegun) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> running{0};
    Crew crew(GetParam(), 1 << 20);
    for (std::size_t i = 0; i < GetParam() + 1; ++i) {
      Crew::Lease lease = crew.take(10);
      crew.submit(lease, [&](Crew::Bench&) {
        ++running;
        --running;
      });
    }
    crew.abandon();
    EXPECT_EQ(running, 0);
    crew.finish();
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Crews, testing::Values(1, 2, 5));

}  // namespace
}  // namespace psgd::dump
