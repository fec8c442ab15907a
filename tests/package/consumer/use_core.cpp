// Draws a factor and makes its columns orthonormal: random numbers, backend and LAPACK from the package.
#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>

#include "libpsgd/backend/cpu/cpu_backend.hpp"
#include "libpsgd/base/random_state.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/orthogonalize/method.hpp"

int main() {
  constexpr std::int64_t rows = 8;
  constexpr std::int64_t cols = 3;
  psgd::RandomState random(0);
  psgd::ThreadPool pool(1);
  const auto backend = psgd::backend::cpu<double>(pool);
  const auto values = backend->allocate<double>(rows * cols);
  for (double& value : values.span()) value = random.randint(1000) - 500.0;

  const std::array factors{psgd::backend::Factor<double>{values.data(), rows, cols}};
  psgd::orthogonalize::orthogonalize<double>(*backend, factors, psgd::orthogonalize::Rule{});
  backend->synchronize();

  double sum_of_squares = 0;
  for (const double value : values.span()) sum_of_squares += value * value;
  std::cout << "psgd::core: three orthonormal columns, sum of squares " << sum_of_squares << '\n';
  return std::abs(sum_of_squares - cols) < 1e-12 ? 0 : 1;
}
