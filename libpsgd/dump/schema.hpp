#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "libpsgd/tensor/shape.hpp"

/// Names in a gradient dump, layout v1 (datasets/README.md describes it). Every name stands here once.
namespace psgd::dump::schema {

inline constexpr std::string_view format = "psgd-gradients";
inline constexpr std::string_view averaged_format = "psgd-averaged";  ///< of an output file
inline constexpr std::int64_t major_version = 1;
inline constexpr std::int64_t minor_version = 0;

/// Attributes of the file.
namespace attribute {
inline constexpr const char* format = "format";
inline constexpr const char* format_version = "format_version";
inline constexpr const char* world_size = "world_size";
inline constexpr const char* ranks = "ranks";
inline constexpr const char* grad_kind = "grad_kind";
inline constexpr const char* complete = "complete";
inline constexpr const char* framework = "framework";
inline constexpr const char* framework_version = "framework_version";
inline constexpr const char* model = "model";
inline constexpr const char* writer = "writer";
// of a dataset of gradients:
inline constexpr const char* name = "name";
inline constexpr const char* logical_dtype = "logical_dtype";
inline constexpr const char* memory_format = "memory_format";
}  // namespace attribute

/// Links below the root.
inline constexpr const char* steps = "steps";
inline constexpr const char* parameters = "parameters";
inline constexpr const char* gradients = "gradients";
inline constexpr const char* loss_scale = "loss_scale";
inline constexpr const char* loss = "loss";
inline constexpr const char* accumulation = "accumulation";
inline constexpr const char* present = "present";
inline constexpr const char* averaged = "averaged";  ///< of an output file, in place of gradients

/// Fields of a record of /parameters.
namespace field {
inline constexpr const char* name = "name";
inline constexpr const char* bucket = "bucket";
inline constexpr const char* offset = "offset";
}  // namespace field

/// A parameter's link name below /gradients: dots kept; `/` and `%` percent-escaped, and so are the whole names "." and
/// "..". The empty name becomes "%", which no other name can.
std::string link_name(std::string_view parameter);

/// Chunk extents of a dataset [T, R, *shape]: one step of one process rank, several steps of a small tensor, a large
/// one cut along its leading axes into pieces of equal size (at most 4 MiB; 1 MiB when filtered).
///
/// `shared`: what a chunk of several steps may take; a writer of many small tensors holds one of each in memory.
Shape chunk_extents(const Shape& shape, std::size_t element_size, bool filtered,
                    std::int64_t shared = std::int64_t{64} << 10);

}  // namespace psgd::dump::schema
