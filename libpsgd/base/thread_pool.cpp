#include "libpsgd/base/thread_pool.hpp"

#include <sched.h>

#include <algorithm>

namespace psgd {
namespace {

// The worker that the current thread is while it runs a piece, so that a call from inside a piece runs in place.
thread_local bool inside_piece = false;
thread_local std::size_t current_worker = 0;

}  // namespace

std::size_t available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(std::size_t threads) {
  if (threads == 0) threads = available_processors();
  workers_.reserve(threads - 1);
  for (std::size_t worker = 1; worker < threads; ++worker) workers_.emplace_back([this, worker] { serve(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::size_t pieces, Work work) {
  if (pieces == 0) return;
  if (inside_piece || workers_.empty() || pieces == 1) {
    const std::size_t worker = inside_piece ? current_worker : 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) work.call(work.function, piece, worker);
    return;
  }
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return !running_; });
    running_ = true;
    work_ = work;
    pieces_ = pieces;
    next_.store(0, std::memory_order_relaxed);
    busy_ = workers_.size();
    failure_ = nullptr;
    ++generation_;
  }
  start_.notify_all();
  take_pieces(0);
  std::exception_ptr failure;
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    running_ = false;
    failure = failure_;
  }
  done_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

void ThreadPool::serve(std::size_t worker) {
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
    }
    take_pieces(worker);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_all();
  }
}

void ThreadPool::take_pieces(std::size_t worker) {
  inside_piece = true;
  current_worker = worker;
  for (;;) {
    const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
    if (piece >= pieces_) break;
    try {
      work_.call(work_.function, piece, worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_.store(pieces_, std::memory_order_relaxed);
    }
  }
  inside_piece = false;
}

}  // namespace psgd
