#include "libpsgd/backend/registry.hpp"

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/error.hpp"
#include "libpsgd/base/module.hpp"

namespace psgd::backend {
namespace {

template <class T>
std::unique_ptr<Backend<T>> from_cuda_module(ThreadPool& pool) {
  static const Module module("cuda", "this build has no GPU backend; use --backend cpu");
  const char* const symbol = sizeof(T) == sizeof(float) ? "psgd_cuda_backend_float32" : "psgd_cuda_backend_float64";
  return std::unique_ptr<Backend<T>>(module.function<Backend<T>*(ThreadPool&)>(symbol)(pool));
}

}  // namespace

template <class T>
std::unique_ptr<Backend<T>> make_backend(std::string_view name, ThreadPool& pool) {
  if (name == "cpu") return cpu<T>(pool);
  if (name == "cuda") return from_cuda_module<T>(pool);
  throw Error::usage("unknown backend \"{}\" (known: cpu, cuda)", name);
}

template std::unique_ptr<Backend<float>> make_backend(std::string_view, ThreadPool&);
template std::unique_ptr<Backend<double>> make_backend(std::string_view, ThreadPool&);

}  // namespace psgd::backend
