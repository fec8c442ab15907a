#include "libpsgd/orthogonalize/shifted_cholesky_qr3.hpp"

#include "libpsgd/orthogonalize/tall.hpp"

namespace psgd::orthogonalize {

template <class T>
void shifted_cholesky_qr3(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors,
                          double /*epsilon*/) {
  check_tall("Shifted Cholesky QR", factors);
  const std::size_t size = gram_size(factors);
  double* const odd = backend.workspace(2 * size);
  double* const even = odd + size;
  backend.gram(factors, odd);
  backend.cholesky(factors, odd, 11);
  backend.solve_right(factors, odd, even);
  backend.cholesky(factors, even, 0);
  backend.solve_right(factors, even, odd);
  backend.cholesky(factors, odd, 0);
  backend.solve_right(factors, odd, nullptr);
  backend.householder_where_unsolved(factors, odd);
}

template void shifted_cholesky_qr3(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void shifted_cholesky_qr3(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
