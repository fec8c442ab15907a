#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "libpsgd/base/thread_pool.hpp"

/// How work is cut into pieces. Cuts depend on shapes alone, never on the number of threads, and so do the sums over
/// pieces.
namespace psgd::backend {

/// Elements that a piece should have at least to be worth handing to another thread.
inline constexpr std::size_t worthwhile_elements = std::size_t{1} << 15;

/// Part [begin, begin + count) of a run of elements or rows that belongs to `owner`.
struct Range {
  std::size_t owner = 0;
  std::size_t begin = 0;
  std::size_t count = 0;
  std::size_t elements = 0;
};

/// Appends [0, count) of `owner`, cut every `step`; an element of the range stands for `width` elements of memory.
inline void cut(std::size_t owner, std::size_t count, std::size_t step, std::size_t width, std::vector<Range>& ranges) {
  for (std::size_t begin = 0; begin < count; begin += step) {
    const std::size_t here = std::min(step, count - begin);
    ranges.push_back({owner, begin, here, here * width});
  }
}

/// A block of the matrix of task `owner`.
struct Block {
  std::size_t owner = 0;
  std::size_t row = 0;
  std::size_t rows = 0;
  std::size_t col = 0;
  std::size_t cols = 0;
  std::size_t elements = 0;
};

/// A matrix cut every `row_step` rows and `col_step` columns.
struct Grid {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t row_step = 1;
  std::size_t col_step = 1;

  [[nodiscard]] std::size_t row_blocks() const { return (rows + row_step - 1) / row_step; }
  [[nodiscard]] std::size_t col_blocks() const { return (cols + col_step - 1) / col_step; }

  /// Appends the blocks, those of one row of blocks after another.
  void cut(std::size_t owner, std::vector<Block>& blocks) const {
    for (std::size_t row = 0; row < rows; row += row_step) {
      for (std::size_t col = 0; col < cols; col += col_step) {
        const std::size_t high = std::min(row_step, rows - row);
        const std::size_t wide = std::min(col_step, cols - col);
        blocks.push_back({owner, row, high, col, wide, high * wide});
      }
    }
  }
};

/// Runs body(index) for every item of a list on the pool's threads, neighbours together until they are worthwhile.
class Distributor {
 public:
  explicit Distributor(ThreadPool& pool) : pool_(pool) {}

  template <class Item, class Body>
  void for_each(const std::vector<Item>& items, Body&& body) {
    bounds_.assign(1, 0);
    std::size_t elements = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      elements += items[i].elements;
      if (elements >= worthwhile_elements || i + 1 == items.size()) {
        bounds_.push_back(i + 1);
        elements = 0;
      }
    }
    pool_.for_each(bounds_.size() - 1, [&](std::size_t piece, std::size_t worker) {
      for (std::size_t i = bounds_[piece]; i < bounds_[piece + 1]; ++i) body(i, worker);
    });
  }

  [[nodiscard]] std::size_t workers() const { return pool_.size(); }

 private:
  ThreadPool& pool_;
  std::vector<std::size_t> bounds_;
};

}  // namespace psgd::backend
