#include "libpsgd/orthogonalize/cholesky_qr.hpp"

#include "libpsgd/orthogonalize/tall.hpp"

namespace psgd::orthogonalize {

template <class T>
void cholesky_qr(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, double /*epsilon*/) {
  check_tall("Cholesky QR", factors);
  double* const r = backend.workspace(gram_size(factors));
  backend.gram(factors, r);
  backend.cholesky(factors, r, 0);
  backend.solve_right(factors, r, nullptr);
  backend.householder_where_unsolved(factors, r);
}

template void cholesky_qr(backend::Backend<float>&, std::span<const backend::Factor<float>>, double);
template void cholesky_qr(backend::Backend<double>&, std::span<const backend::Factor<double>>, double);

}  // namespace psgd::orthogonalize
