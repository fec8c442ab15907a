#pragma once

namespace psgd {

/// While it lives the BLAS library takes one thread for a product or factorization, so that matrices can be shared out
/// among our own and the last bits do not depend on how many processors there are. Knows OpenBLAS, the one that Debian
/// installs; does nothing with a library that has no such switch.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
  ~SingleThreadedBlas();

 private:
  int before_ = 0;
};

}  // namespace psgd
