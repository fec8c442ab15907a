#include "libpsgd/base/single_threaded_blas.hpp"

#include <dlfcn.h>

namespace psgd {
namespace {

/// OpenBLAS's own calls, found at run time: which library stands behind the BLAS interface is the system's choice.
struct Switch {
  int (*get)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  void (*set)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
};

const Switch& threads() {
  static const Switch found;
  return found;
}

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  if (threads().get == nullptr || threads().set == nullptr) return;
  before_ = threads().get();
  threads().set(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  if (before_ > 0) threads().set(before_);
}

}  // namespace psgd
