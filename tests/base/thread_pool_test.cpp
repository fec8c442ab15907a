#include "libpsgd/base/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace psgd {
namespace {

TEST(ThreadPool, RunsEveryPieceOnce) {
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::size_t pieces : {0U, 1U, 2U, 7U, 1000U}) {
      std::vector<std::atomic<int>> runs(pieces);
      pool.for_each(pieces, [&](std::size_t piece, std::size_t worker) {
        EXPECT_LT(worker, threads);
        ++runs[piece];
      });
      for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, ManyShortCallsFollowEachOther) {
  ThreadPool pool(3);
  std::atomic<std::size_t> sum{0};
  for (std::size_t call = 0; call < 20000; ++call) {
    pool.for_each(2 + call % 5, [&](std::size_t piece, std::size_t /*worker*/) { sum += piece; });
  }
  EXPECT_EQ(sum, 4000U * (1 + 3 + 6 + 10 + 15));
}

TEST(ThreadPool, WakesWorkersThatHaveGoneToSleep) {
  ThreadPool pool(2);
  for (int call = 0; call < 3; ++call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    // Each of the two pieces waits for the other, so both workers have to be there.
    std::atomic<int> arrived{0};
    pool.for_each(2, [&](std::size_t /*piece*/, std::size_t /*worker*/) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
  }
}

TEST(ThreadPool, WaitsForTheSlowestPiece) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.for_each(2, [&](std::size_t /*piece*/, std::size_t worker) {
    if (worker != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++done;
  });
  EXPECT_EQ(done, 2);
}

TEST(ThreadPool, RethrowsAndStaysUsable) {
  for (const std::size_t threads : {1U, 4U}) {
    ThreadPool pool(threads);
    EXPECT_THROW(pool.for_each(100,
                               [](std::size_t piece, std::size_t) {
                                 if (piece == 3) throw std::runtime_error("piece");
                               }),
                 std::runtime_error);
    std::atomic<int> runs{0};
    pool.for_each(100, [&](std::size_t, std::size_t) { ++runs; });
    EXPECT_EQ(runs, 100);
  }
}

TEST(ThreadPool, ACallFromInsideAPieceRunsInPlace) {
  ThreadPool pool(3);
  std::atomic<int> runs{0};
  pool.for_each(8, [&](std::size_t, std::size_t outer) {
    const std::thread::id here = std::this_thread::get_id();
    pool.for_each(5, [&](std::size_t, std::size_t inner) {
      EXPECT_EQ(inner, outer);
      EXPECT_EQ(std::this_thread::get_id(), here);
      ++runs;
    });
  });
  EXPECT_EQ(runs, 40);
}

TEST(ThreadPool, PoolsDoNotDisturbEachOther) {
  ThreadPool outer(2);
  ThreadPool inner(3);
  std::atomic<int> runs{0};
  outer.for_each(6, [&](std::size_t, std::size_t) {
    inner.for_each(7, [&](std::size_t, std::size_t worker) {
      EXPECT_LT(worker, 3U);
      ++runs;
    });
  });
  EXPECT_EQ(runs, 42);
}

TEST(ThreadPool, CallsFromSeveralThreadsTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int> runs{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < 500; ++call) pool.for_each(3, [&](std::size_t, std::size_t) { ++runs; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(runs, 4 * 500 * 3);
}

TEST(ThreadPool, ThereIsAProcessorToRunOn) { EXPECT_GE(available_processors(), 1U); }

}  // namespace
}  // namespace psgd
