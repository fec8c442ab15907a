#pragma once

#include <lapacke.h>

/// LAPACK's QR for both types, on columns `lda` elements apart, with the caller's memory.
namespace psgd::backend::lapack {

/// Numbers of `work` that geqrf and orgqr use at their best block size.
inline std::size_t qr_work(std::size_t cols) { return 64 * cols; }

inline lapack_int geqrf(lapack_int m, lapack_int n, float* a, lapack_int lda, float* tau, float* work,
                        lapack_int size) {
  return LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, m, n, a, lda, tau, work, size);
}
inline lapack_int geqrf(lapack_int m, lapack_int n, double* a, lapack_int lda, double* tau, double* work,
                        lapack_int size) {
  return LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, m, n, a, lda, tau, work, size);
}
inline lapack_int orgqr(lapack_int m, lapack_int n, float* a, lapack_int lda, const float* tau, float* work,
                        lapack_int size) {
  return LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, m, n, n, a, lda, tau, work, size);
}
inline lapack_int orgqr(lapack_int m, lapack_int n, double* a, lapack_int lda, const double* tau, double* work,
                        lapack_int size) {
  return LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, m, n, n, a, lda, tau, work, size);
}

}  // namespace psgd::backend::lapack
