#include "libpsgd/dump/schema.hpp"

#include <algorithm>

namespace psgd::dump::schema {
namespace {

constexpr std::int64_t largest_chunk = std::int64_t{4} << 20;
constexpr std::int64_t largest_filtered_chunk = std::int64_t{1} << 20;
constexpr std::int64_t most_shared_steps = 16;  // so that a short recording is not mostly padding

}  // namespace

std::string link_name(std::string_view parameter) {
  if (parameter.empty()) return "%";
  if (parameter == ".") return "%2E";
  if (parameter == "..") return "%2E%2E";
  std::string link;
  for (const char c : parameter) {
    if (c == '/') {
      link += "%2F";
    } else if (c == '%') {
      link += "%25";
    } else {
      link += c;
    }
  }
  return link;
}

Shape chunk_extents(const Shape& shape, std::size_t element_size, bool filtered, std::int64_t shared) {
  const std::int64_t limit = filtered ? largest_filtered_chunk : largest_chunk;
  Shape piece(shape);
  for (std::int64_t& extent : piece) extent = std::max<std::int64_t>(1, extent);
  const auto element = static_cast<std::int64_t>(element_size);
  std::int64_t size = numel(piece) * element;
  std::int64_t steps_in_chunk = 1;
  if (size < shared) steps_in_chunk = std::min(most_shared_steps, shared / size);
  for (std::int64_t& extent : piece) {
    const std::int64_t pieces = (size + limit - 1) / limit;
    if (pieces <= 1) break;
    extent = std::max<std::int64_t>(1, (extent + pieces - 1) / pieces);
    size = numel(piece) * element;
  }
  piece.insert(piece.begin(), {steps_in_chunk, 1});
  return piece;
}

}  // namespace psgd::dump::schema
