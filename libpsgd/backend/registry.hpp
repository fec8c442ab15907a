#pragma once

#include <memory>
#include <string_view>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/base/thread_pool.hpp"

namespace psgd::backend {

/// The backend called `name`: "cpu", or "cuda" from the module libpsgd_cuda.so. `pool` serves what is computed on the
/// host and has to outlive the backend. Throws Error::usage for any other name and Error::unavailable when the module
/// is absent.
template <class T>
std::unique_ptr<Backend<T>> make_backend(std::string_view name, ThreadPool& pool);

}  // namespace psgd::backend
