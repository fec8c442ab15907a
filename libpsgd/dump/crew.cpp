#include "libpsgd/dump/crew.hpp"

#include <exception>
#include <utility>

namespace psgd::dump {

Crew::Crew(std::size_t threads, std::uint64_t budget) : budget_(budget) {
  // One to fill while the others are worked on, and one more so that a worker always finds the next.
  const std::size_t benches = threads + 2;
  for (std::size_t i = 0; i < benches; ++i) {
    benches_.push_back(std::make_unique<Bench>());
    free_.push_back(i);  // has room for all from now on
  }
  workers_.reserve(threads - 1);
  try {
    for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
  } catch (const std::exception&) {
    // No more threads to be had, or no memory for them: the reading thread does what those that exist do not.
  }
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  queued_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Crew::Lease Crew::take(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  const auto has_room = [&] { return !free_.empty() && (bytes_in_use_ == 0 || bytes_in_use_ + bytes <= budget_); };
  while (!has_room()) {
    if (!queue_.empty()) {
      run_one(lock);
    } else {
      done_.wait(lock);
    }
  }
  const std::size_t bench = free_.back();
  free_.pop_back();
  bytes_kept_ -= benches_[bench]->capacity();
  bytes_in_use_ += bytes;
  for (std::size_t i = 0; i < free_.size() && bytes_kept_ + bytes_in_use_ > budget_; ++i) {
    bytes_kept_ -= benches_[free_[i]]->capacity();
    benches_[free_[i]]->release();
  }
  return {*this, bench, bytes};
}

void Crew::submit(Lease& lease, Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({lease.bench_, lease.bytes_, std::move(work)});
    lease.crew_ = nullptr;
  }
  queued_.notify_one();
}

void Crew::finish() {
  std::unique_lock lock(mutex_);
  drain(lock);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Crew::abandon() noexcept {
  std::unique_lock lock(mutex_);
  while (!queue_.empty()) {
    give_back_locked(queue_.front().bench, queue_.front().bytes);
    queue_.pop_front();
  }
  done_.wait(lock, [this] { return running_ == 0; });
  failure_ = nullptr;
}

void Crew::drain(std::unique_lock<std::mutex>& lock) {
  while (!queue_.empty() || running_ != 0) {
    if (!queue_.empty()) {
      run_one(lock);
    } else {
      done_.wait(lock);
    }
  }
}

void Crew::run_one(std::unique_lock<std::mutex>& lock) {
  Piece piece = std::move(queue_.front());
  queue_.pop_front();
  ++running_;
  const bool skip = failure_ != nullptr;
  lock.unlock();
  std::exception_ptr failure;
  try {
    if (!skip) piece.work(*benches_[piece.bench]);
  } catch (...) {
    failure = std::current_exception();
  }
  piece.work = nullptr;
  give_back(piece.bench, piece.bytes);
  lock.lock();
  if (failure && !failure_) failure_ = failure;
  --running_;
  done_.notify_all();
}

void Crew::give_back(std::size_t bench, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  give_back_locked(bench, bytes);
}

void Crew::give_back_locked(std::size_t bench, std::size_t bytes) noexcept {
  bytes_in_use_ -= bytes;
  Bench& used = *benches_[bench];
  if (bytes_kept_ + bytes_in_use_ + used.capacity() > budget_) used.release();
  bytes_kept_ += used.capacity();
  free_.push_back(bench);  // taken again first: few benches hold buffers where few are in use
}

void Crew::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    queued_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    run_one(lock);
  }
}

}  // namespace psgd::dump
