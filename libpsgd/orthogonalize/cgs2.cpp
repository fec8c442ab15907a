#include "libpsgd/orthogonalize/cgs2.hpp"

#include "libpsgd/orthogonalize/tall.hpp"

namespace psgd::orthogonalize {

template <class T>
void cgs2(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon) {
  check_tall("Classical Gram-Schmidt", factors);
  backend.classical_gram_schmidt_twice(factors, epsilon);
}

template void cgs2(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void cgs2(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
