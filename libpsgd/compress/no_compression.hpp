#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// Plain averaging, DistributedDataParallel's default: the baseline that others are compared with.
template <class T>
std::unique_ptr<Hook<T>> no_compression(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
