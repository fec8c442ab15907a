#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "libpsgd/backend/backend.hpp"

/// All-reduce among the process ranks of a job.
namespace psgd::comm {

/// What the collectives of one process rank carried, as a real job would have sent them.
struct Traffic {
  std::int64_t collectives = 0;
  std::int64_t elements = 0;
};

template <class T>
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// W, the number of process ranks whose gradients meet in a sum, however many of them are members here.
  [[nodiscard]] virtual std::int64_t world_size() const = 0;

  /// contributions[0] ← Σ contributions over all members, in member order. A member is a process rank, or, in fused
  /// arithmetic, the sum of several. All contributions have `count` elements.
  void all_reduce_sum(std::span<T* const> contributions, std::int64_t count) {
    sum(contributions, count);
    record(count);
  }

  /// True when a collective may be done piece by piece, as its data come: nothing crosses between processes or devices.
  /// Each piece is summed by `all_reduce_piece`, and the whole collective is then counted by `record`.
  [[nodiscard]] virtual bool divisible() const { return false; }
  void all_reduce_piece(std::span<T* const> contributions, std::int64_t count) { sum(contributions, count); }
  void record(std::int64_t count) {
    ++traffic_.collectives;
    traffic_.elements += count;
  }

  [[nodiscard]] const Traffic& traffic() const noexcept { return traffic_; }

 private:
  virtual void sum(std::span<T* const> contributions, std::int64_t count) = 0;

  Traffic traffic_;
};

/// Every process rank in this process, added on `backend`.
template <class T>
std::unique_ptr<Communicator<T>> simulated(backend::Backend<T>& backend, std::int64_t world_size);

}  // namespace psgd::comm
