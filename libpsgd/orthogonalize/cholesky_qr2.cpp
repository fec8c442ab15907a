#include "libpsgd/orthogonalize/cholesky_qr2.hpp"

#include "libpsgd/orthogonalize/tall.hpp"

namespace psgd::orthogonalize {

template <class T>
void cholesky_qr2(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double /*epsilon*/) {
  check_tall("Cholesky QR", factors);
  const std::size_t size = gram_size(factors);
  double* const first = backend.workspace(2 * size);
  double* const second = first + size;
  backend.gram(factors, first);
  backend.cholesky(factors, first, 0);
  backend.solve_right(factors, first, second);
  backend.cholesky(factors, second, 0);
  backend.solve_right(factors, second, nullptr);
  backend.householder_where_unsolved(factors, second);
}

template void cholesky_qr2(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void cholesky_qr2(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
