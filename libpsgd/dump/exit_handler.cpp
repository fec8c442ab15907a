#include "libpsgd/dump/exit_handler.hpp"

#include <hdf5.h>

namespace psgd::dump {

void forgo_hdf5_exit_handler() noexcept {
  // A failure means that the library has been used already and the handler is there.
  if (H5dont_atexit() < 0) H5Eclear2(H5E_DEFAULT);
}

}  // namespace psgd::dump
