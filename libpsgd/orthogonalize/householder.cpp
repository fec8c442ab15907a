#include "libpsgd/orthogonalize/householder.hpp"

#include "libpsgd/base/error.hpp"

namespace psgd::orthogonalize {

template <class T>
void householder(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double /*epsilon*/) {
  for (const backend::Factor<T>& factor : factors) {
    if (factor.rows < factor.cols) {
      throw Error::input("Householder QR of a {} x {} factor: a factor needs at least as many rows as columns",
                         factor.rows, factor.cols);
    }
  }
  backend.householder(factors);
}

template void householder(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void householder(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
