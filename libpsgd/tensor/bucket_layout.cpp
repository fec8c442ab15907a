#include "libpsgd/tensor/bucket_layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

constexpr std::int64_t cache_line_elements = 16;  // 64 bytes of float32, 128 of float64

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void check_bucket(std::span<const Parameter> parameters, const std::vector<std::size_t>& members) {
  const Parameter& first = parameters[members.front()];
  for (std::size_t i = 1; i < members.size(); ++i) {
    const Parameter& before = parameters[members[i - 1]];
    const Parameter& current = parameters[members[i]];
    if (current.dtype != first.dtype) {
      throw Error::input("bucket {} mixes element types: \"{}\" is {}, \"{}\" is {}", first.bucket, first.name,
                         to_string(first.dtype), current.name, to_string(current.dtype));
    }
    if (before.offset + numel(before.shape) > current.offset) {
      throw Error::input("bucket {}: \"{}\" and \"{}\" overlap (offsets {} and {})", first.bucket, before.name,
                         current.name, before.offset, current.offset);
    }
  }
}

Bucket place_bucket(std::span<const Parameter> parameters, const std::vector<std::size_t>& members,
                    std::int64_t begin) {
  Bucket bucket;
  bucket.index = parameters[members.front()].bucket;
  bucket.dtype = parameters[members.front()].dtype;
  bucket.begin = begin;
  for (const std::size_t member : members) {
    const Shape& shape = parameters[member].shape;
    const MatrixExtents extents = shape.empty() ? MatrixExtents{} : matrix_extents(shape);
    bucket.tensors.push_back({member, extents.rows, extents.cols, numel(shape), begin + bucket.length});
    bucket.length += bucket.tensors.back().numel;
  }
  bucket.capacity = bucket.length;
  return bucket;
}

}  // namespace

void assign_default_buckets(std::span<Parameter> parameters, std::int64_t first_bucket_bytes,
                            std::int64_t bucket_bytes) {
  // The reducer fills one open bucket for each dtype and numbers buckets by the first parameter they received.
  struct Open {
    std::int64_t limit;
    std::int64_t elements = 0;
    std::vector<std::size_t> members;
  };
  std::map<DType, Open> open;
  std::vector<std::vector<std::size_t>> closed;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    auto [entry, fresh] = open.try_emplace(parameters[i].dtype, Open{first_bucket_bytes});
    Open& bucket = entry->second;
    parameters[i].offset = bucket.elements;
    bucket.elements += numel(parameters[i].shape);
    bucket.members.push_back(i);
    if (bucket.elements * static_cast<std::int64_t>(size_of(parameters[i].dtype)) >= bucket.limit) {
      closed.push_back(std::move(bucket.members));
      bucket = Open{bucket_bytes};
    }
  }
  for (auto& [dtype, bucket] : open) {
    if (!bucket.members.empty()) closed.push_back(std::move(bucket.members));
  }
  std::sort(closed.begin(), closed.end(), [](const auto& a, const auto& b) { return a.front() > b.front(); });
  for (std::size_t index = 0; index < closed.size(); ++index) {
    for (const std::size_t member : closed[index]) parameters[member].bucket = static_cast<std::int32_t>(index);
  }
}

std::int64_t square_side(std::int64_t length) {
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(length)));
  while (side * side < length) ++side;
  while (side > 0 && (side - 1) * (side - 1) >= length) --side;
  return side;
}

GradientLayout layout_gradients(std::span<const Parameter> parameters, std::span<const std::size_t> chosen,
                                BucketPadding padding) {
  std::map<std::int32_t, std::vector<std::size_t>> by_bucket;
  for (const std::size_t parameter : chosen) by_bucket[parameters[parameter].bucket].push_back(parameter);

  GradientLayout layout;
  for (auto& [index, members] : by_bucket) {
    // An empty tensor shares its offset with the next one, so ties keep the model's order.
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      const auto key = [&](std::size_t i) { return std::pair(parameters[i].offset, numel(parameters[i].shape) != 0); };
      return key(a) < key(b);
    });
    check_bucket(parameters, members);
    Bucket bucket = place_bucket(parameters, members, layout.extent);
    if (padding == BucketPadding::square) {
      const std::int64_t side = square_side(bucket.length);
      bucket.capacity = side * side;
    }
    layout.numel += bucket.length;
    layout.extent = round_up(bucket.begin + bucket.capacity, cache_line_elements);
    layout.buckets.push_back(std::move(bucket));
  }
  return layout;
}

}  // namespace psgd
