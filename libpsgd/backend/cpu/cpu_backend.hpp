#pragma once

#include <memory>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/base/thread_pool.hpp"

namespace psgd::backend {

/// The backend that computes in host memory, on the threads of `pool`, which has to outlive it.
template <class T>
std::unique_ptr<Backend<T>> cpu(ThreadPool& pool);

}  // namespace psgd::backend
