#pragma once

#include <span>
#include <string_view>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// One compressor, as --hook names it.
struct HookEntry {
  std::string_view name;
  std::string_view help;
  BucketPadding padding;
  bool needs_matrices;      ///< 0-dimensional parameters have no place in it
  bool has_power_sgd_state;  ///< takes all PowerSGDState parameters; else at most the rank and the seed
  std::unique_ptr<Hook<float>> (*make_float)(const HookOptions&, const HookContext<float>&);
  std::unique_ptr<Hook<double>> (*make_double)(const HookOptions&, const HookContext<double>&);
};

/// Every compressor known, in the order that help texts list them.
std::span<const HookEntry> hooks();

/// Throws Error::usage naming the known ones.
const HookEntry& hook(std::string_view name);

template <class T>
std::unique_ptr<Hook<T>> make_hook(const HookEntry& entry, const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
