#include "libpsgd/dump/step_stream.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "libpsgd/base/error.hpp"

namespace psgd::dump {
namespace {

// Zeroed pages, taken from the system as they are touched and in large pages where it has them.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    data_ = pages;
    madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages& operator=(Pages&&) = delete;
  ~Pages() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

constexpr std::size_t alignment = 64;

std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

void check_memory(const Reader& reader, std::size_t bytes_each, std::size_t depth) {
  const std::uint64_t limit = reader.options().memory_limit;
  if (limit == 0) return;
  const std::uint64_t working = reader.working_bytes();
  if (working > limit || bytes_each > (limit - working) / depth) {
    throw Error::unavailable(
        "{}: {} steps in memory take {:.0f} MiB and reading {} MiB, more than the memory limit of {} MiB; "
        "take fewer parameters or process ranks",
        reader.description().files.front().string(), depth,
        static_cast<double>(bytes_each) * static_cast<double>(depth) / (1 << 20), working >> 20, limit >> 20);
  }
}

}  // namespace

template <class T>
struct StepStream<T>::Impl {
  struct Buffer {
    Pages pages;
    StepData<T> data;
  };

  Reader& reader;
  const std::vector<std::size_t> step_indices;
  const std::vector<std::int64_t> process_ranks;
  const GradientLayout layout;
  std::vector<Buffer> ring;
  std::atomic<double> seconds{0};

  // Counts of steps: freed <= returned <= read <= freed + ring.size(). What was returned and not freed is in the
  // caller's hands.
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t read = 0;
  std::size_t returned = 0;
  std::size_t freed = 0;
  bool stop = false;
  std::exception_ptr failure;
  std::thread thread;

  Impl(Reader& from, std::vector<std::size_t> steps, std::vector<std::int64_t> ranks, GradientLayout placed,
       std::size_t depth)
      : reader(from), step_indices(std::move(steps)), process_ranks(std::move(ranks)), layout(std::move(placed)) {
    if (depth == 0) throw Error::internal("a step stream needs a buffer");
    allocate(std::min(depth, std::max<std::size_t>(1, step_indices.size())));
    if (ring.size() > 1) start_reading_ahead();
  }

  void allocate(std::size_t depth) {
    const auto extent = static_cast<std::size_t>(layout.extent);
    const std::size_t most = std::size_t{1} << 62U;
    if (extent > most / sizeof(T) / (process_ranks.size() + 1)) throw std::bad_alloc();
    const std::size_t each = padded(extent * sizeof(T));
    check_memory(reader, each * process_ranks.size(), depth);
    for (std::size_t i = 0; i < depth; ++i) {
      Buffer buffer{Pages(each * process_ranks.size()), {}};
      for (std::size_t rank = 0; rank < process_ranks.size(); ++rank) {
        auto* begin = static_cast<std::byte*>(buffer.pages.data()) + rank * each;
        buffer.data.gradients.push_back(reinterpret_cast<T*>(begin));
      }
      ring.push_back(std::move(buffer));
    }
  }

  void start_reading_ahead() {
    try {
      thread = std::thread([this] { read_ahead(); });
    } catch (const std::system_error&) {  // no thread to be had
      while (ring.size() > 1) ring.pop_back();
    }
  }

  void read_into(StepData<T>& data, std::size_t step_index) {
    const auto begin = std::chrono::steady_clock::now();
    data.step_index = step_index;
    reader.template read_step<T>(step_index, process_ranks, layout, data.gradients);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    seconds.store(seconds.load() + took.count());  // one thread at a time adds
  }

  void read_ahead() {
    std::unique_lock lock(mutex);
    while (read < step_indices.size()) {
      changed.wait(lock, [this] { return stop || read - freed < ring.size(); });
      if (stop) return;
      const std::size_t turn = read;
      lock.unlock();
      std::exception_ptr caught;
      try {
        read_into(ring[turn % ring.size()].data, step_indices[turn]);
      } catch (...) {
        caught = std::current_exception();
      }
      lock.lock();
      failure = caught;
      if (!failure) ++read;
      changed.notify_all();
      if (failure) return;
    }
  }

  const StepData<T>* next() {
    if (ring.size() == 1) return next_without_thread();
    std::unique_lock lock(mutex);
    freed = returned;
    changed.notify_all();
    if (returned == step_indices.size()) return nullptr;
    changed.wait(lock, [this] { return read > returned || failure; });
    if (read == returned) std::rethrow_exception(failure);
    return &ring[returned++ % ring.size()].data;
  }

  const StepData<T>* next_without_thread() {
    if (failure) std::rethrow_exception(failure);
    if (returned == step_indices.size()) return nullptr;
    try {
      read_into(ring.front().data, step_indices[returned]);
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
    ++returned;
    return &ring.front().data;
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }
};

template <class T>
StepStream<T>::StepStream(Reader& reader, std::vector<std::size_t> step_indices,
                          std::vector<std::int64_t> process_ranks, GradientLayout layout, std::size_t depth)
    : impl_(std::make_unique<Impl>(reader, std::move(step_indices), std::move(process_ranks), std::move(layout),
                                   depth)) {}

template <class T>
StepStream<T>::~StepStream() = default;

template <class T>
const StepData<T>* StepStream<T>::next() {
  return impl_->next();
}

template <class T>
double StepStream<T>::seconds_reading() const {
  return impl_->seconds.load();
}

template class StepStream<float>;
template class StepStream<double>;

}  // namespace psgd::dump
