#include "libpsgd/base/interrupt.hpp"

#include <unistd.h>
#include <csignal>
#include <ctime>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

std::atomic<bool> stop{false};
std::atomic<std::int64_t> first_signal_ms{-1};

// A handler may touch nothing else.
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

constexpr std::int64_t repeat_grace_ms = 250;

std::int64_t now_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void on_stop_signal(int signal) {
  const int saved_errno = errno;
  const std::int64_t now = now_ms();
  std::int64_t first = -1;
  if (!first_signal_ms.compare_exchange_strong(first, now) && now - first >= repeat_grace_ms) _exit(128 + signal);
  stop.store(true);
  errno = saved_errno;
}

void install(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0) throw Error::internal("sigaction: {}", std::strerror(errno));
  if (action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGHUP);
  if (sigaction(signal, &action, nullptr) != 0) throw Error::internal("sigaction: {}", std::strerror(errno));
}

}  // namespace

void install_interrupt_handlers() {
  for (const int signal : std::array{SIGINT, SIGTERM, SIGHUP}) install(signal);
}

bool stop_requested() noexcept { return stop.load(); }

const std::atomic<bool>& stop_flag() noexcept { return stop; }

void request_stop() noexcept { stop.store(true); }

void clear_stop_request() noexcept {
  stop.store(false);
  first_signal_ms.store(-1);
}

}  // namespace psgd
