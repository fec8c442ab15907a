#include "libpsgd/comm/communicator.hpp"

namespace psgd::comm {
namespace {

template <class T>
class Simulated final : public Communicator<T> {
 public:
  Simulated(backend::Backend<T>& backend, std::int64_t world_size) : backend_(backend), world_size_(world_size) {}

  [[nodiscard]] std::int64_t world_size() const override { return world_size_; }
  [[nodiscard]] bool divisible() const override { return true; }

 private:
  void sum(std::span<T* const> contributions, std::int64_t count) override {
    for (std::size_t member = 1; member < contributions.size(); ++member) {
      backend_.add(contributions[member], contributions[0], count);
    }
  }

  backend::Backend<T>& backend_;
  std::int64_t world_size_;
};

}  // namespace

template <class T>
std::unique_ptr<Communicator<T>> simulated(backend::Backend<T>& backend, std::int64_t world_size) {
  return std::make_unique<Simulated<T>>(backend, world_size);
}

template std::unique_ptr<Communicator<float>> simulated(backend::Backend<float>&, std::int64_t);
template std::unique_ptr<Communicator<double>> simulated(backend::Backend<double>&, std::int64_t);

}  // namespace psgd::comm
