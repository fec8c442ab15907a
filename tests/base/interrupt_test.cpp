#include "libpsgd/base/interrupt.hpp"

#include <unistd.h>
#include <csignal>
#include <ctime>

#include <gtest/gtest.h>

namespace psgd {
namespace {

void sleep_ms(long milliseconds) {
  timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000};
  while (nanosleep(&time, &time) != 0) {
  }
}

// Signal dispositions belong to the process, so each case runs in one of its own.
class InterruptDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST(Interrupt, RequestSetsTheFlagAndClearTakesItBack) {
  clear_stop_request();
  EXPECT_FALSE(stop_requested());
  request_stop();
  EXPECT_TRUE(stop_requested());
  EXPECT_TRUE(stop_flag().load());
  request_stop();
  clear_stop_request();
  EXPECT_FALSE(stop_requested());
}

TEST_F(InterruptDeathTest, FirstSignalOnlySetsTheFlag) {
  const auto program = [](int signal) {
    install_interrupt_handlers();
    if (stop_requested()) _exit(1);
    raise(signal);
    _exit(stop_requested() ? 42 : 2);
  };
  EXPECT_EXIT(program(SIGINT), ::testing::ExitedWithCode(42), "");
  EXPECT_EXIT(program(SIGTERM), ::testing::ExitedWithCode(42), "");
}

TEST_F(InterruptDeathTest, ASignalDeliveredTwiceCountsOnce) {
  const auto program = [] {
    install_interrupt_handlers();
    raise(SIGTERM);
    raise(SIGTERM);
    _exit(stop_requested() ? 42 : 2);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(42), "");
}

TEST_F(InterruptDeathTest, ALaterSignalEndsTheProcess) {
  const auto program = [](int second) {
    install_interrupt_handlers();
    raise(SIGINT);
    sleep_ms(400);
    raise(second);
    _exit(1);
  };
  EXPECT_EXIT(program(SIGINT), ::testing::ExitedWithCode(130), "");
  EXPECT_EXIT(program(SIGTERM), ::testing::ExitedWithCode(143), "");
}

TEST_F(InterruptDeathTest, AnIgnoredSignalStaysIgnored) {
  const auto program = [] {
    std::signal(SIGINT, SIG_IGN);
    install_interrupt_handlers();
    raise(SIGINT);
    if (stop_requested()) _exit(1);
    raise(SIGTERM);
    _exit(stop_requested() ? 42 : 2);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace psgd
