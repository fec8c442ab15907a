#include "libpsgd/base/thread_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

/// The pool and the worker that the current thread belongs to while it runs a piece, so that a call from inside a piece
/// runs in place.
thread_local const ThreadPool* current_pool = nullptr;
thread_local std::size_t current_worker = 0;

/// next_ holds the number of the call in its upper half and the next piece in its lower half, or there that none is
/// left.
constexpr std::uint64_t piece_mask = 0xffffffff;
constexpr std::uint64_t no_piece = piece_mask;

/// Looks at `ready` for as long as waking up from sleep would take, some tens of microseconds.
template <class Ready>
bool becomes_true_soon(Ready ready) {
  constexpr int looks = 2000;
  for (int i = 0; i < looks; ++i) {
    if (ready()) return true;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  return false;
}

}  // namespace

std::size_t available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  return std::max(1U, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(std::size_t threads) : next_(no_piece) {
  if (threads == 0) threads = available_processors();
  workers_.reserve(threads - 1);
  try {
    for (std::size_t worker = 1; worker < threads; ++worker) workers_.emplace_back([this, worker] { serve(worker); });
  } catch (const std::system_error& error) {
    stop();
    throw Error::unavailable("cannot start {} threads: {}; ask for fewer", threads, error.code().message());
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(sleep_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::size_t pieces, Work work) {
  const bool inside = current_pool == this;
  if (inside || workers_.empty() || pieces <= 1) {
    const std::size_t worker = inside ? current_worker : 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) work.call(work.function, piece, worker);
    return;
  }
  const std::lock_guard one_call(calls_);
  open(pieces, work);
  take_pieces(0);
  wait_until_finished(pieces);
  if (!failed_) return;
  std::exception_ptr failure;
  {
    const std::lock_guard lock(sleep_);
    failure = std::exchange(failure_, nullptr);
  }
  std::rethrow_exception(failure);
}

/// Publishes a call. Until next_ is set, last, no worker can take a piece of it.
void ThreadPool::open(std::size_t pieces, Work work) {
  function_ = work.function;
  call_ = work.call;
  pieces_ = pieces;
  finished_ = 0;
  failed_ = false;
  call_number_ = (call_number_ + 1) & piece_mask;
  next_ = call_number_ << 32;
  if (sleepers_ == 0) return;
  // A worker counts itself a sleeper and looks at next_ once more under the lock, so this either wakes it or need not.
  { const std::lock_guard lock(sleep_); }
  start_.notify_all();
}

void ThreadPool::take_pieces(std::size_t worker) {
  const ThreadPool* const outer_pool = std::exchange(current_pool, this);
  const std::size_t outer_worker = std::exchange(current_worker, worker);
  for (;;) {
    std::uint64_t next = next_;
    const std::uint64_t piece = next & piece_mask;
    if (piece == no_piece) break;
    const Work work{function_, call_};
    const std::size_t pieces = pieces_;
    // While next_ is what it was, the call is the one that work and pieces were read of.
    const std::uint64_t after = piece + 1 < pieces ? next + 1 : next | no_piece;
    if (!next_.compare_exchange_strong(next, after)) continue;
    run_piece(work, piece, worker);
    if (++finished_ == pieces && caller_sleeps_) {
      { const std::lock_guard lock(sleep_); }
      done_.notify_one();
    }
  }
  current_pool = outer_pool;
  current_worker = outer_worker;
}

void ThreadPool::run_piece(Work work, std::size_t piece, std::size_t worker) {
  if (failed_) return;  // the rest are only counted
  try {
    work.call(work.function, piece, worker);
  } catch (...) {
    const std::lock_guard lock(sleep_);
    if (!failed_) failure_ = std::current_exception();
    failed_ = true;
  }
}

void ThreadPool::wait_until_finished(std::size_t pieces) {
  const auto finished = [&] { return finished_ == pieces; };
  if (becomes_true_soon(finished)) return;
  std::unique_lock lock(sleep_);
  caller_sleeps_ = true;
  done_.wait(lock, finished);
  caller_sleeps_ = false;
}

void ThreadPool::serve(std::size_t worker) {
  std::uint64_t seen = 0;
  const auto called = [&] { return stop_ || next_ >> 32 != seen; };
  for (;;) {
    if (!becomes_true_soon(called)) {
      std::unique_lock lock(sleep_);
      ++sleepers_;
      start_.wait(lock, called);
      --sleepers_;
    }
    if (stop_) return;
    seen = next_ >> 32;
    take_pieces(worker);
  }
}

}  // namespace psgd
