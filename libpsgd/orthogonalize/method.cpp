#include "libpsgd/orthogonalize/method.hpp"

#include <array>
#include <type_traits>

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/orthogonalize/cgs2.hpp"
#include "libpsgd/orthogonalize/cholesky_qr.hpp"
#include "libpsgd/orthogonalize/cholesky_qr2.hpp"
#include "libpsgd/orthogonalize/gram_schmidt.hpp"
#include "libpsgd/orthogonalize/half_gram_schmidt.hpp"
#include "libpsgd/orthogonalize/householder.hpp"
#include "libpsgd/orthogonalize/shifted_cholesky_qr3.hpp"
#include "libpsgd/orthogonalize/tsqr.hpp"

namespace psgd::orthogonalize {
namespace {

constexpr std::array table{
    Method{"gram-schmidt", "modified Gram-Schmidt with epsilon (PyTorch's for r <= 2)", gram_schmidt<float>,
           gram_schmidt<double>},
    Method{"cgs2", "classical Gram-Schmidt, each column twice", cgs2<float>, cgs2<double>},
    Method{"householder", "Householder QR, LAPACK geqrf + orgqr (PyTorch's for r > 2)", householder<float>,
           householder<double>},
    Method{"tsqr", "Householder QR of panels, then of their R's up a tree", tsqr<float>, tsqr<double>},
    Method{"cholesky-qr", "Cholesky QR, Gram matrix in float64; Householder where it fails", cholesky_qr<float>,
           cholesky_qr<double>},
    Method{"cholesky-qr2", "Cholesky QR twice: as orthogonal as Householder, and faster", cholesky_qr2<float>,
           cholesky_qr2<double>},
    Method{"shifted-cholesky-qr3", "Cholesky QR three times, shifted first: for nearly singular factors",
           shifted_cholesky_qr3<float>, shifted_cholesky_qr3<double>},
    Method{"half-gram-schmidt", "gram-schmidt rounded to float16 after each operation, as on float16 tensors",
           half_gram_schmidt<float>, half_gram_schmidt<double>},
    Method{"bfloat16-gram-schmidt", "the same rounded to bfloat16", bfloat16_gram_schmidt<float>,
           bfloat16_gram_schmidt<double>},
};

template <class T>
void run(const Method& method, backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors,
         double epsilon) {
  if (factors.empty()) return;
  if constexpr (std::is_same_v<T, float>) {
    method.run_float(backend, factors, epsilon);
  } else {
    method.run_double(backend, factors, epsilon);
  }
}

}  // namespace

std::span<const Method> methods() { return table; }

const Method& method(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Method& candidate : table) {
    if (candidate.name == name) return candidate;
    names.push_back(candidate.name);
  }
  throw Error::usage("unknown orthogonalization \"{}\" (known: auto, {})", name, fmt::join(names, ", "));
}

template <class T>
void orthogonalize(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, const Rule& rule) {
  std::vector<backend::Factor<T>> first;
  std::vector<backend::Factor<T>> second;
  for (const backend::Factor<T>& factor : factors) {
    if (factor.cols == 0 || factor.rows == 0) continue;
    const bool gram_schmidt_rule = factor.cols <= 2 || rule.half_precision;
    (rule.method != nullptr || gram_schmidt_rule ? first : second).push_back(factor);
  }
  static const Method& gram_schmidt_method = method("gram-schmidt");
  static const Method& householder_method = method("householder");
  run<T>(rule.method != nullptr ? *rule.method : gram_schmidt_method, backend, first, rule.epsilon);
  run<T>(householder_method, backend, second, rule.epsilon);
}

template void orthogonalize(backend::Backend<float>&, std::span<const backend::Factor<float>>, const Rule&);
template void orthogonalize(backend::Backend<double>&, std::span<const backend::Factor<double>>, const Rule&);

}  // namespace psgd::orthogonalize
