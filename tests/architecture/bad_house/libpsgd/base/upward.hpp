// Breaks every rule once; the test of check_house expects each fault to be named.
#include <iostream>

#include "libpsgd/backend/backend.hpp"
#include "upward.hpp"

inline void faults() {
  std::cout << "printed\n";  // not std::cerr
  abort();
}
