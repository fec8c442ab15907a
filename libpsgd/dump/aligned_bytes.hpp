#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace psgd::dump {

/// Scratch memory that begins on a cache line, holds what was there before only until it grows, and is not initialized.
class AlignedBytes {
 public:
  /// At least `bytes` bytes.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > capacity_) {
      data_.reset();
      capacity_ = 0;
      data_.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
      capacity_ = bytes;
    }
    return data_.get();
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  void release() noexcept {
    data_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, alignment); }
  };

  std::unique_ptr<std::byte, Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace psgd::dump
