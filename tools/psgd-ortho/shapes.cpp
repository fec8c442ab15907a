#include "tools/psgd-ortho/shapes.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "libpsgd/base/error.hpp"
#include "tools/common/values.hpp"

namespace psgd::tools::ortho {
namespace {

using psgd::replay::FactorShape;

constexpr std::int64_t longest_side = std::numeric_limits<std::int32_t>::max();
constexpr double most_elements = 0x1p34;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

FactorShape parse_shape(std::string_view text) {
  std::vector<std::int64_t> sides;
  for (const std::string_view side : split(text, 'x')) {
    if (side.empty() || side.find_first_not_of("0123456789") != std::string_view::npos || sides.size() == 3) {
      throw BadValue(fmt::format("'{}' is not ROWSxCOLS or ROWSxCOLSxBATCH, such as 4096x4", text));
    }
    sides.push_back(parse_integer(side, 0, longest_side));
  }
  if (sides.size() < 2) throw BadValue(fmt::format("'{}' is not ROWSxCOLS, such as 4096x4", text));
  const FactorShape shape{sides[0], sides[1], sides.size() == 3 ? sides[2] : 1};
  if (shape.rows == 0 || shape.cols == 0 || shape.batch == 0) {
    throw BadValue(fmt::format("'{}' has no elements", text));
  }
  if (shape.cols > shape.rows) {
    throw BadValue(fmt::format("'{}' has more columns than rows, which cannot all be orthonormal", text));
  }
  if (static_cast<double>(shape.rows) * static_cast<double>(shape.cols) * static_cast<double>(shape.batch) >
      most_elements) {
    throw BadValue(fmt::format("'{}' has more elements than can be tried", text));
  }
  return shape;
}

std::string shape_text(const FactorShape& shape) {
  return shape.batch == 1 ? fmt::format("{}x{}", shape.rows, shape.cols)
                          : fmt::format("{}x{}x{}", shape.rows, shape.cols, shape.batch);
}

std::vector<FactorShape> read_shapes(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw Error::input("{}: cannot be read: {}", file.string(), std::strerror(errno));
  std::vector<FactorShape> shapes;
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    const std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    try {
      shapes.push_back(parse_shape(text));
    } catch (const BadValue& fault) {
      throw Error::input("{}: line {}: {}", file.string(), number, fault.what());
    }
  }
  if (stream.bad() || (!stream.eof() && stream.fail())) {
    throw Error::input("{}: cannot be read to its end", file.string());
  }
  if (shapes.empty()) throw Error::input("{}: holds no shape; write one a line, such as 4096x4", file.string());
  return shapes;
}

}  // namespace psgd::tools::ortho
