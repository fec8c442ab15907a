#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "libpsgd/comm/communicator.hpp"

namespace psgd::comm {

/// The transport called `name`: "simulated", or "nccl" and "mpi" from modules. Throws Error::usage for any other name
/// and Error::unavailable when the module is absent.
template <class T>
std::unique_ptr<Communicator<T>> make_communicator(std::string_view name, backend::Backend<T>& backend,
                                                   std::int64_t world_size);

}  // namespace psgd::comm
