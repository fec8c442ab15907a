#include "libpsgd/tensor/dtype.hpp"

#include <array>

#include "libpsgd/base/error.hpp"

namespace psgd {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array entries{
    Entry{DType::float16, "float16", 2},
    Entry{DType::bfloat16, "bfloat16", 2},
    Entry{DType::float32, "float32", 4},
    Entry{DType::float64, "float64", 8},
};

const Entry& entry(DType dtype) { return entries[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view to_string(DType dtype) { return entry(dtype).name; }

std::size_t size_of(DType dtype) { return entry(dtype).size; }

DType dtype_from_string(std::string_view name) {
  for (const Entry& candidate : entries) {
    if (candidate.name == name) return candidate.dtype;
  }
  throw Error::input("unknown element type \"{}\" (known: float16, bfloat16, float32, float64)", name);
}

}  // namespace psgd
