#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "libpsgd/dump/aligned_bytes.hpp"
#include "libpsgd/dump/chunk_decoder.hpp"

namespace psgd::dump {

/// Threads that inflate and convert what one thread reads, with a bound on the memory in between.
///
/// The reading thread takes a Bench, fills its `raw` buffer and submits work for it; where all benches are taken, or
/// those in use hold `budget` bytes, it works itself until one is free. A pool that shares out loops (ThreadPool) would
/// stop reading while it inflates, and would wait for its turn behind a replay that computes at the same time.
class Crew {
 public:
  /// What one piece of work has to itself.
  struct Bench {
    AlignedBytes raw;
    ChunkDecoder decoder;

    [[nodiscard]] std::size_t capacity() const noexcept { return raw.capacity() + decoder.capacity(); }
    void release() noexcept {
      raw.release();
      decoder.release();
    }
  };
  /// May throw; must not use the HDF5 library.
  using Work = std::function<void(Bench&)>;

  /// A bench that was taken; goes back by itself unless submitted.
  class Lease {
   public:
    Lease(Crew& crew, std::size_t bench, std::size_t bytes) : crew_(&crew), bench_(bench), bytes_(bytes) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (crew_ != nullptr) crew_->give_back(bench_, bytes_);
    }
    Bench& operator*() const noexcept { return *crew_->benches_[bench_]; }
    Bench* operator->() const noexcept { return crew_->benches_[bench_].get(); }

   private:
    friend class Crew;
    Crew* crew_;
    std::size_t bench_;
    std::size_t bytes_;
  };

  /// `threads` >= 1, the reading thread included.
  Crew(std::size_t threads, std::uint64_t budget);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  [[nodiscard]] std::size_t threads() const noexcept { return workers_.size() + 1; }
  [[nodiscard]] std::uint64_t budget() const noexcept { return budget_; }

  /// For work that needs `bytes` in its bench. One piece of work may exceed the budget, alone.
  Lease take(std::size_t bytes);
  void submit(Lease& lease, Work work);
  /// Works until nothing is left; rethrows the first exception that any work threw since the last call.
  void finish();
  /// The same without an exception: what is not begun is dropped.
  void abandon() noexcept;

 private:
  struct Piece {
    std::size_t bench = 0;
    std::size_t bytes = 0;
    Work work;
  };

  void serve();
  void run_one(std::unique_lock<std::mutex>& lock);
  void give_back(std::size_t bench, std::size_t bytes) noexcept;
  void give_back_locked(std::size_t bench, std::size_t bytes) noexcept;
  void drain(std::unique_lock<std::mutex>& lock);

  std::uint64_t budget_;
  std::vector<std::unique_ptr<Bench>> benches_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable queued_;
  std::condition_variable done_;
  std::vector<std::size_t> free_;
  std::deque<Piece> queue_;
  std::uint64_t bytes_in_use_ = 0;
  std::uint64_t bytes_kept_ = 0;  // in free benches, for the next work
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace psgd::dump
