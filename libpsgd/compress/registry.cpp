#include "libpsgd/compress/registry.hpp"

#include <array>
#include <type_traits>

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/batched_power_sgd.hpp"
#include "libpsgd/compress/no_compression.hpp"
#include "libpsgd/compress/original_power_sgd.hpp"
#include "libpsgd/compress/power_sgd.hpp"

namespace psgd::compress {
namespace {

constexpr std::array table{
    HookEntry{"powersgd", "PyTorch's powerSGD_hook: tensor by tensor", BucketPadding::none, true, true, power_sgd<float>,
              power_sgd<double>},
    HookEntry{"batched", "PyTorch's batched_powerSGD_hook: a bucket as one square matrix", BucketPadding::square, false, true,
              batched_power_sgd<float>, batched_power_sgd<double>},
    HookEntry{"original", "the hook of 2020: squares, cold starts, no error feedback", BucketPadding::square, false, false,
              original_power_sgd<float>, original_power_sgd<double>},
    HookEntry{"none", "plain averaging", BucketPadding::none, false, false, no_compression<float>, no_compression<double>},
};

}  // namespace

std::span<const HookEntry> hooks() { return table; }

const HookEntry& hook(std::string_view name) {
  std::vector<std::string_view> names;
  for (const HookEntry& candidate : table) {
    if (candidate.name == name) return candidate;
    names.push_back(candidate.name);
  }
  throw Error::usage("unknown hook \"{}\" (known: {})", name, fmt::join(names, ", "));
}

template <class T>
std::unique_ptr<Hook<T>> make_hook(const HookEntry& entry, const HookOptions& options, const HookContext<T>& context) {
  if constexpr (std::is_same_v<T, float>) {
    return entry.make_float(options, context);
  } else {
    return entry.make_double(options, context);
  }
}

template std::unique_ptr<Hook<float>> make_hook(const HookEntry&, const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> make_hook(const HookEntry&, const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
