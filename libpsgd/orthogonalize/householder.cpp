#include "libpsgd/orthogonalize/householder.hpp"

#include "libpsgd/orthogonalize/tall.hpp"

namespace psgd::orthogonalize {

template <class T>
void householder(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double /*epsilon*/) {
  check_tall("Householder QR", factors);
  backend.householder(factors);
}

template void householder(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void householder(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
