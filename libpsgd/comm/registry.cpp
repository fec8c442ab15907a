#include "libpsgd/comm/registry.hpp"

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/module.hpp"

namespace psgd::comm {
namespace {

template <class T>
std::unique_ptr<Communicator<T>> from_module(const Module& module, backend::Backend<T>& backend,
                                             std::int64_t world_size) {
  const char* const symbol = sizeof(T) == sizeof(float) ? "psgd_communicator_float32" : "psgd_communicator_float64";
  using Make = Communicator<T>*(backend::Backend<T>&, std::int64_t);
  return std::unique_ptr<Communicator<T>>(module.function<Make>(symbol)(backend, world_size));
}

}  // namespace

template <class T>
std::unique_ptr<Communicator<T>> make_communicator(std::string_view name, backend::Backend<T>& backend,
                                                   std::int64_t world_size) {
  if (name == "simulated") return simulated(backend, world_size);
  if (name == "nccl") {
    static const Module module("nccl", "this build has no NCCL transport; use --transport simulated");
    return from_module(module, backend, world_size);
  }
  if (name == "mpi") {
    static const Module module("mpi", "this build has no MPI transport; use --transport simulated");
    return from_module(module, backend, world_size);
  }
  throw Error::usage("unknown transport \"{}\" (known: simulated, nccl, mpi)", name);
}

template std::unique_ptr<Communicator<float>> make_communicator(std::string_view, backend::Backend<float>&,
                                                                std::int64_t);
template std::unique_ptr<Communicator<double>> make_communicator(std::string_view, backend::Backend<double>&,
                                                                 std::int64_t);

}  // namespace psgd::comm
