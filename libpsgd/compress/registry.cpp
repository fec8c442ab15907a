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
    HookEntry{.name = "powersgd",
              .help = "PyTorch's powerSGD_hook: tensor by tensor",
              .padding = BucketPadding::none,
              .needs_matrices = true,
              .has_power_sgd_state = true,
              .linear = true,
              .keeps_errors = true,
              .collective = Collective::all_reduce,
              .make_float = power_sgd<float>,
              .make_double = power_sgd<double>},
    HookEntry{.name = "batched",
              .help = "PyTorch's batched_powerSGD_hook: a bucket as one square matrix",
              .padding = BucketPadding::square,
              .needs_matrices = false,
              .has_power_sgd_state = true,
              .linear = true,
              .keeps_errors = true,
              .collective = Collective::all_reduce,
              .make_float = batched_power_sgd<float>,
              .make_double = batched_power_sgd<double>},
    HookEntry{.name = "original",
              .help = "the hook of 2020: squares, cold starts, no error feedback",
              .padding = BucketPadding::square,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .linear = true,
              .keeps_errors = false,
              .collective = Collective::all_reduce,
              .make_float = original_power_sgd<float>,
              .make_double = original_power_sgd<double>},
    HookEntry{.name = "none",
              .help = "plain averaging",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .linear = true,
              .keeps_errors = false,
              .collective = Collective::all_reduce,
              .make_float = no_compression<float>,
              .make_double = no_compression<double>},
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
