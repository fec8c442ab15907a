#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libpsgd/tensor/dtype.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd {

/// A model parameter as a dump describes it.
struct Parameter {
  std::string name;
  Shape shape;  ///< logical extents
  DType dtype = DType::float32;
  MemoryFormat memory_format = MemoryFormat::contiguous;
  std::int32_t bucket = -1;  ///< DistributedDataParallel bucket; -1: not recorded
  std::int64_t offset = 0;   ///< elements from the start of the bucket's flat buffer
};

/// Gives every parameter a bucket and an offset by DistributedDataParallel's own rule: reverse model order, one dtype a
/// bucket, a bucket closed once it holds first_bucket_bytes (the first) or bucket_bytes (the others).
/// Source: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
void assign_default_buckets(std::span<Parameter> parameters, std::int64_t first_bucket_bytes = std::int64_t{1} << 20,
                            std::int64_t bucket_bytes = std::int64_t{25} << 20);

/// One parameter's place in the flat memory of a step.
struct TensorSlot {
  std::size_t parameter = 0;  ///< index into the dump's parameters
  std::int64_t rows = 0;      ///< matrix view; 0 × 0 for a 0-dimensional tensor
  std::int64_t cols = 0;
  std::int64_t numel = 0;
  std::int64_t begin = 0;  ///< elements from the start of the step's flat memory
};

/// One flat bucket: its tensors lie back to back from `begin`, then zeros up to `capacity`.
struct Bucket {
  std::int32_t index = 0;  ///< as recorded: the key of PowerSGDState's dictionaries
  DType dtype = DType::float32;
  std::int64_t begin = 0;
  std::int64_t length = 0;    ///< elements of the tensors together
  std::int64_t capacity = 0;  ///< elements reserved, >= length
  std::vector<TensorSlot> tensors;
};

/// Flat memory for the gradients of one process rank: all buckets in ascending index, each begun on a cache line.
struct GradientLayout {
  std::vector<Bucket> buckets;
  std::int64_t numel = 0;   ///< elements of all tensors
  std::int64_t extent = 0;  ///< elements of memory, gaps included
};

/// Side of the square matrix that the batched and original hooks view a flat bucket as: ceil(sqrt(length)).
std::int64_t square_side(std::int64_t length);

enum class BucketPadding {
  none,
  square,  ///< capacity = square_side(length)²
};

/// Lays out the chosen parameters. Within a bucket tensors are ordered by offset and packed, so leaving some out closes
/// the gap. Throws Error::input when tensors of a bucket overlap or differ in dtype.
GradientLayout layout_gradients(std::span<const Parameter> parameters, std::span<const std::size_t> chosen,
                                BucketPadding padding = BucketPadding::none);

}  // namespace psgd
