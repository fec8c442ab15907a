#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/comm/communicator.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::test {

enum class Members { fused, per_rank };

/// A job in memory: parameters of given shapes in one or several buckets, W process ranks with random gradients, and a
/// hook.
template <class T>
class Job {
 public:
  Job(std::string hook, const compress::HookOptions& options, std::vector<Shape> shapes, std::size_t ranks,
      Members members, std::size_t tensors_per_bucket = 100)
      : ranks_(ranks), members_(members), pool_(2), backend_(backend::cpu<T>(pool_)) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Parameter parameter;
      parameter.name = fmt::format("p{}", i);
      parameter.shape = shapes[i];
      parameter.dtype = dtype_of<T>;
      parameter.bucket = static_cast<std::int32_t>(i / tensors_per_bucket);
      parameter.offset = i % tensors_per_bucket == 0 ? 0 : parameters_.back().offset + numel(parameters_.back().shape);
      parameters_.push_back(parameter);
      chosen.push_back(i);
    }
    const compress::HookEntry& entry = compress::hook(hook);
    layout_ = layout_gradients(parameters_, chosen, entry.padding);
    communicator_ = comm::simulated(*backend_, static_cast<std::int64_t>(ranks));
    compress::HookContext<T> context;
    context.backend = backend_.get();
    context.communicator = communicator_.get();
    context.layout = &layout_;
    context.members = members == Members::fused ? 1 : ranks;
    context.member_weight = members == Members::fused ? static_cast<double>(ranks) : 1.0;
    context.log = [this](LogLevel, const std::string& line) { log_.push_back(line); };
    hook_ = compress::make_hook(entry, options, context);
    for (std::size_t rank = 0; rank < ranks; ++rank) gradients_.push_back(backend_->template allocate<T>(extent()));
    mean_ = backend_->template allocate<T>(extent());
    averaged_ = backend_->template allocate<T>(extent());
  }

  /// Fills all process ranks' gradients from `generator` and takes their mean.
  template <class Generator>
  void set_gradients(Generator generator) {
    for (const Bucket& bucket : layout_.buckets) {
      for (std::int64_t i = bucket.begin; i < bucket.begin + bucket.length; ++i) {
        double sum = 0;
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
          gradients_[rank][at(i)] = static_cast<T>(generator());
          sum += static_cast<double>(gradients_[rank][at(i)]);
        }
        mean_[at(i)] = static_cast<T>(sum / static_cast<double>(ranks_));
      }
    }
  }

  /// The same random numbers for every Job with the same layout and seed.
  void set_random_gradients(unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    set_gradients([&] { return normal(engine); });
  }

  void step() {
    for (std::size_t position = 0; position < layout_.buckets.size(); ++position) {
      const std::int64_t begin = layout_.buckets[position].begin;
      std::vector<const T*> members;
      if (members_ == Members::fused) {
        members.push_back(mean_.data() + begin);
      } else {
        for (const auto& gradient : gradients_) members.push_back(gradient.data() + begin);
      }
      compress::BucketGradients<T> bucket;
      bucket.position = position;
      bucket.is_last = position + 1 == layout_.buckets.size();
      bucket.members = members;
      bucket.mean = mean_.data() + begin;
      bucket.averaged = averaged_.data() + begin;
      hook_->run(bucket);
    }
    backend_->synchronize();
  }

  [[nodiscard]] compress::Hook<T>& hook() { return *hook_; }
  [[nodiscard]] const GradientLayout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }
  [[nodiscard]] T averaged(std::int64_t i) const { return averaged_[at(i)]; }
  [[nodiscard]] T mean(std::int64_t i) const { return mean_[at(i)]; }
  [[nodiscard]] T gradient(std::size_t rank, std::int64_t i) const { return gradients_[rank][at(i)]; }
  [[nodiscard]] std::size_t members() const { return members_ == Members::fused ? 1 : ranks_; }
  /// What member `member` brought to the step: its gradient.
  [[nodiscard]] T input(std::size_t member, std::int64_t i) const {
    return members_ == Members::fused ? mean(i) : gradient(member, i);
  }
  [[nodiscard]] T error(std::size_t member, const Bucket& bucket, std::int64_t i) {
    const auto position = static_cast<std::size_t>(&bucket - layout_.buckets.data());
    const T* const memory = hook_->error_memory(position, member);
    return memory == nullptr ? T{0} : memory[i - bucket.begin];
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t extent() const { return at(layout_.extent); }

  std::size_t ranks_;
  Members members_;
  ThreadPool pool_;
  std::unique_ptr<backend::Backend<T>> backend_;
  std::vector<Parameter> parameters_;
  GradientLayout layout_;
  std::unique_ptr<comm::Communicator<T>> communicator_;
  std::unique_ptr<compress::Hook<T>> hook_;
  std::vector<backend::Buffer<T>> gradients_;
  backend::Buffer<T> mean_;
  backend::Buffer<T> averaged_;
  std::vector<std::string> log_;
};

inline compress::HookOptions hook_options(std::int64_t rank) {
  compress::HookOptions options;
  options.power_sgd.matrix_approximation_rank = rank;
  return options;
}

}  // namespace psgd::test
