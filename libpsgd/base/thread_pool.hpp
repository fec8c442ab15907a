#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace psgd {

/// A fixed set of workers that share out numbered pieces of work.
///
/// The caller's thread works too, so a pool of size 1 starts no thread. Which worker runs which piece is not defined:
/// a result that must not depend on the number of threads has to be cut into pieces whose number does not depend on it.
/// One call runs at a time; calls from inside a piece run in that piece's thread.
///
/// A worker without work watches for more for some tens of microseconds before it sleeps, so that calls which follow
/// each other closely start within a microsecond; waking it later costs some tens. A call never waits for a worker that
/// took none of its pieces.
class ThreadPool {
 public:
  /// `threads` >= 1 workers, the caller's included; 0 means one for each processor this process may run on. Throws
  /// Error::unavailable when the system does not give that many.
  explicit ThreadPool(std::size_t threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return workers_.size() + 1; }

  /// Calls body(piece, worker) once for each piece in [0, pieces), worker in [0, size()); returns when all are done.
  /// The first exception a piece throws is rethrown here, after the pieces already begun have ended.
  template <class Body>
  void for_each(std::size_t pieces, Body&& body) {
    using Function = std::remove_reference_t<Body>;
    run(pieces, Work{const_cast<void*>(static_cast<const void*>(std::addressof(body))),
                     [](void* function, std::size_t piece, std::size_t worker) {
                       (*static_cast<Function*>(function))(piece, worker);
                     }});
  }

 private:
  using Call = void (*)(void* function, std::size_t piece, std::size_t worker);
  struct Work {
    void* function = nullptr;
    Call call = nullptr;
  };

  void run(std::size_t pieces, Work work);
  void open(std::size_t pieces, Work work);
  void take_pieces(std::size_t worker);
  void run_piece(Work work, std::size_t piece, std::size_t worker);
  void wait_until_finished(std::size_t pieces);
  void serve(std::size_t worker);
  void stop();

  std::vector<std::thread> workers_;
  std::mutex calls_;  ///< held by the one call that runs

  // The call that runs. A worker reads these before it takes a piece, perhaps while the next call is being set up: it
  // then finds that next_ has changed and takes none.
  std::atomic<void*> function_{nullptr};
  std::atomic<Call> call_{nullptr};
  std::atomic<std::size_t> pieces_{0};
  std::atomic<std::uint64_t> next_;  ///< the number of the call, and the piece to be taken next
  std::atomic<std::size_t> finished_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  ///< guarded by sleep_
  std::uint64_t call_number_ = 0;

  std::mutex sleep_;
  std::condition_variable start_;
  std::condition_variable done_;
  std::atomic<std::size_t> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> stop_{false};
};

/// Processors this process may run on (its affinity mask), at least 1.
std::size_t available_processors();

}  // namespace psgd
