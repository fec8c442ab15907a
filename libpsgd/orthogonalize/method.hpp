#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/tensor/dtype.hpp"

/// Methods that make the columns of tall factors orthonormal, each in a file of its own.
namespace psgd::orthogonalize {

/// One method. The functions orthonormalize a batch of factors in place.
struct Method {
  std::string_view name;  ///< as --orthogonalization spells it
  std::string_view help;
  void (*run_float)(backend::Backend<float>&, std::span<const backend::Factor<float>>, double epsilon);
  void (*run_double)(backend::Backend<double>&, std::span<const backend::Factor<double>>, double epsilon);
};

/// Every method known, in the order that help texts list them.
std::span<const Method> methods();

/// Throws Error::usage naming the known ones.
const Method& method(std::string_view name);

/// Which method orthonormalizes which factor.
struct Rule {
  const Method* method = nullptr;  ///< null: PyTorch's rule
  double epsilon = 0;              ///< added to the column norm in Gram–Schmidt
  bool half_precision = false;     ///< the bucket is float16 or bfloat16: PyTorch's rule is Gram–Schmidt at any rank
};

/// PyTorch's rule (`_orthogonalize` in powerSGD_hook.py): Gram–Schmidt for at most two columns or half precision, else
/// Householder QR. Factors without columns are left alone.
template <class T>
void orthogonalize(backend::Backend<T>& backend, std::span<const backend::Factor<T>> factors, const Rule& rule);

}  // namespace psgd::orthogonalize
