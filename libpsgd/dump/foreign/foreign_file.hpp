#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/dump/convert.hpp"
#include "libpsgd/tensor/shape.hpp"

/// Recorded gradients in the formats that other tools leave, to be made into dumps.
namespace psgd::dump::foreign {

/// One array of a file.
struct Tensor {
  std::string key;  ///< as the file names it; groups are separated by slashes
  Shape shape;
  StoredType stored;
  std::int64_t numel = 0;

  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(numel) * size_of(stored.dtype); }
};

/// A file of arrays. Nothing of their values is read before read().
class File {
 public:
  virtual ~File() = default;

  [[nodiscard]] const std::vector<Tensor>& tensors() const noexcept { return tensors_; }

  /// The values as they are stored, row-major; `values` holds tensors()[index].bytes(). Throws Error::input.
  virtual void read(std::size_t index, std::span<std::byte> values) = 0;

 protected:
  std::vector<Tensor> tensors_;
};

/// A format by its name and by what its files begin with.
struct Format {
  std::string_view name;
  std::string_view help;
  bool (*recognizes)(const std::filesystem::path& path, std::string_view beginning);
  std::unique_ptr<File> (*open)(const std::filesystem::path& path);
};

/// Every format known, in the order that help texts list them.
std::span<const Format> formats();

/// Throws Error::input, beginning with the path, for a file of no known format, for one that lies about its contents
/// (sizes that do not add up, names that stand there twice), and for arrays that are no gradients (integers, booleans,
/// text).
std::unique_ptr<File> open(const std::filesystem::path& path);

}  // namespace psgd::dump::foreign
