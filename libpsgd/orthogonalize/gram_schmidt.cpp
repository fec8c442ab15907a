#include "libpsgd/orthogonalize/gram_schmidt.hpp"

namespace psgd::orthogonalize {

template <class T>
void gram_schmidt(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon) {
  backend.gram_schmidt(factors, epsilon, backend::Rounding::none);
}

template void gram_schmidt(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void gram_schmidt(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
