#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace psgd::backend {

/// Uninitialized memory, aligned to a cache line, that grows to the largest request and is then kept: after a first
/// step nothing is allocated any more. What it held is lost when it grows.
template <class T>
class Scratch {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  T* get(std::size_t count) {
    if (count > size_) {
      memory_.reset();
      memory_.reset(static_cast<T*>(::operator new(count * sizeof(T), alignment)));
      size_ = count;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Release {
    void operator()(T* memory) const { ::operator delete(memory, alignment); }
  };

  std::unique_ptr<T, Release> memory_;
  std::size_t size_ = 0;
};

}  // namespace psgd::backend
