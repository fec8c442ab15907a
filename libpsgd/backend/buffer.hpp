#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace psgd::backend {

/// Owns memory of one backend; how to free it comes with it, so that no header of the backend's library is needed here.
template <class T>
class Buffer {
 public:
  using Release = void (*)(void*);

  Buffer() = default;
  Buffer(T* data, std::size_t size, Release release) : data_(data, release), size_(size) {}

  [[nodiscard]] T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), size_}; }
  [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data_.get()[index]; }

  /// Gives the memory on as an array of U, as many as fit. U has to be valid when its bytes are zero.
  template <class U>
  [[nodiscard]] Buffer<U> as() && {
    const Release release = data_.get_deleter();
    const std::size_t count = size_ * sizeof(T) / sizeof(U);
    return {reinterpret_cast<U*>(data_.release()), count, release};
  }

 private:
  std::unique_ptr<T, Release> data_{nullptr, [](void*) {}};
  std::size_t size_ = 0;
};

}  // namespace psgd::backend
