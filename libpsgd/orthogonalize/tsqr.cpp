#include "libpsgd/orthogonalize/tsqr.hpp"

#include "libpsgd/orthogonalize/tall.hpp"

namespace psgd::orthogonalize {

template <class T>
void tsqr(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double /*epsilon*/) {
  check_tall("Tall-skinny QR", factors);
  backend.householder_tree(factors);
}

template void tsqr(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void tsqr(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
