#include "libpsgd/orthogonalize/half_gram_schmidt.hpp"

namespace psgd::orthogonalize {

template <class T>
void half_gram_schmidt(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon) {
  backend.gram_schmidt(factors, epsilon, backend::Rounding::float16);
}

template <class T>
void bfloat16_gram_schmidt(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double epsilon) {
  backend.gram_schmidt(factors, epsilon, backend::Rounding::bfloat16);
}

template void half_gram_schmidt(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void half_gram_schmidt(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);
template void bfloat16_gram_schmidt(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void bfloat16_gram_schmidt(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
