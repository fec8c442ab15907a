#pragma once

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "libpsgd/dump/reader.hpp"
#include "libpsgd/dump/writer.hpp"

namespace psgd::test {

/// A gradient's element, in logical order: a multiple of 1/16 that every type of layout v1 holds exactly.
inline double value_at(std::int64_t step, std::int64_t process_rank, std::size_t parameter, std::int64_t element) {
  const std::int64_t mixed = step * 71 + process_rank * 53 + static_cast<std::int64_t>(parameter) * 29 + element * 7;
  return static_cast<double>(mixed % 251 - 125) / 16.0;
}

inline Parameter parameter(std::string name, Shape shape, DType dtype = DType::float32,
                           MemoryFormat format = MemoryFormat::contiguous) {
  return {std::move(name), std::move(shape), dtype, format};
}

/// One tensor of each kind, small: vectors, matrices, convolutions in every memory format, an empty and a 0-dimensional
/// one.
inline std::vector<Parameter> small_parameters(DType dtype = DType::float32) {
  return {parameter("conv.weight", {4, 3, 2, 5}, dtype),
          parameter("conv.bias", {4}, dtype),
          parameter("last.weight", {4, 18, 3, 3}, dtype, MemoryFormat::channels_last),
          parameter("volume.weight", {2, 3, 2, 2, 2}, dtype, MemoryFormat::channels_last_3d),
          parameter("scale", {}, dtype),
          parameter("empty", {0, 3}, dtype),
          parameter("fc.weight", {7, 33}, dtype)};
}

/// Writes `steps` with value_at's numbers.
inline void write_dump(const std::filesystem::path& path, const dump::WriterOptions& options,
                       const std::vector<std::int64_t>& steps, const dump::StepRemarks& remarks = {}) {
  dump::Writer writer(path, options);
  std::vector<std::int64_t> ranks = options.process_ranks;
  if (ranks.empty()) {
    ranks.resize(static_cast<std::size_t>(options.world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  for (const std::int64_t step : steps) {
    std::vector<std::vector<std::vector<double>>> values(ranks.size());
    std::vector<std::vector<const double*>> pointers(ranks.size());
    for (std::size_t column = 0; column < ranks.size(); ++column) {
      for (std::size_t p = 0; p < options.parameters.size(); ++p) {
        std::vector<double>& tensor =
            values[column].emplace_back(static_cast<std::size_t>(numel(options.parameters[p].shape)));
        for (std::size_t i = 0; i < tensor.size(); ++i) {
          tensor[i] = value_at(step, ranks[column], p, static_cast<std::int64_t>(i));
        }
      }
      for (const std::vector<double>& tensor : values[column]) pointers[column].push_back(tensor.data());
    }
    writer.append_step<double>(step, pointers, remarks);
  }
  writer.close();
}

/// The logical index of the element that lies at `memory` in memory order.
inline std::int64_t logical_index(const Parameter& parameter, std::int64_t memory) {
  const Shape& shape = parameter.shape;
  if (parameter.memory_format == MemoryFormat::contiguous) return memory;
  const std::int64_t channels = shape[1];
  const std::int64_t plane = numel(shape) / shape[0] / channels;
  const std::int64_t channel = memory % channels;
  const std::int64_t position = memory / channels % plane;
  const std::int64_t image = memory / channels / plane;
  return (image * channels + channel) * plane + position;
}

inline GradientLayout layout_all(const dump::Description& description) {
  std::vector<std::size_t> all(description.parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return layout_gradients(description.parameters, all);
}

/// Everything that read_step gives for one step: [process rank][element], padding -1.
template <class T>
std::vector<std::vector<T>> read_step(dump::Reader& reader, std::size_t step_index, const GradientLayout& layout,
                                      const std::vector<std::int64_t>& process_ranks) {
  std::vector<std::vector<T>> memory(process_ranks.size(),
                                     std::vector<T>(static_cast<std::size_t>(layout.extent), T{-1}));
  std::vector<T*> pointers;
  for (std::vector<T>& one : memory) pointers.push_back(one.data());
  reader.read_step<T>(step_index, process_ranks, layout, pointers);
  return memory;
}

template <class T>
void expect_values(const dump::Description& description, const GradientLayout& layout, std::int64_t step,
                   std::int64_t process_rank, const T* memory) {
  for (const Bucket& bucket : layout.buckets) {
    for (const TensorSlot& slot : bucket.tensors) {
      const Parameter& described = description.parameters[slot.parameter];
      for (std::int64_t i = 0; i < slot.numel; ++i) {
        ASSERT_EQ(static_cast<double>(memory[slot.begin + i]),
                  value_at(step, process_rank, slot.parameter, logical_index(described, i)))
            << described.name << ", step " << step << ", process rank " << process_rank << ", element " << i;
      }
    }
  }
}

/// Reads every step of every process rank and compares with value_at.
template <class T>
void expect_reads_back(dump::Reader& reader) {
  const dump::Description& description = reader.description();
  const GradientLayout layout = layout_all(description);
  for (std::size_t step = 0; step < description.steps.size(); ++step) {
    const auto memory = read_step<T>(reader, step, layout, description.process_ranks);
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
      ASSERT_NO_FATAL_FAILURE(expect_values(description, layout, description.steps[step],
                                            description.process_ranks[rank], memory[rank].data()));
    }
  }
}

}  // namespace psgd::test
