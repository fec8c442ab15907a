#include "libpsgd/backend/cpu/passes.hpp"

#include <vector>

namespace psgd::backend::passes {

template <class T>
void project(const MatrixTask<T>& task, double scale) {
  double target_sq = 0;
  std::vector<T> sums(static_cast<std::size_t>(task.rank));
  for (std::int64_t i = 0; i < task.rows; ++i) {
    const T* gradient = task.gradient + i * task.cols;
    T* target = task.target == nullptr ? nullptr : task.target + i * task.cols;
    std::fill(sums.begin(), sums.end(), T{0});
    for (std::int64_t j = 0; j < task.cols; ++j) {
      T value = gradient[j];
      if (target != nullptr) value = target[j] += value;
      target_sq += static_cast<double>(value) * static_cast<double>(value);
      for (std::int64_t k = 0; k < task.rank; ++k) sums[static_cast<std::size_t>(k)] += value * task.q[j * task.rank + k];
    }
    for (std::int64_t k = 0; k < task.rank; ++k) task.p[i * task.rank + k] = static_cast<T>(scale) * sums[static_cast<std::size_t>(k)];
  }
  if (task.member_sums != nullptr) task.member_sums->target_sq = target_sq;
}

template <class T>
void back_project(const MatrixTask<T>& task, double scale) {
  const T* matrix = task.target != nullptr ? task.target : task.gradient;
  std::fill(task.q, task.q + task.cols * task.rank, T{0});
  for (std::int64_t i = 0; i < task.rows; ++i) {
    for (std::int64_t j = 0; j < task.cols; ++j) {
      const T value = matrix[i * task.cols + j];
      for (std::int64_t k = 0; k < task.rank; ++k) task.q[j * task.rank + k] += value * task.p[i * task.rank + k];
    }
  }
  for (std::int64_t j = 0; j < task.cols * task.rank; ++j) task.q[j] *= static_cast<T>(scale);
}

template <class T>
void residual(const MatrixTask<T>& task) {
  double residual_sq = 0;
  TensorSums sums;
  const T* matrix = task.target != nullptr ? task.target : task.gradient;
  for (std::int64_t i = 0; i < task.rows; ++i) {
    for (std::int64_t j = 0; j < task.cols; ++j) {
      T product{0};
      for (std::int64_t k = 0; k < task.rank; ++k) product += task.p[i * task.rank + k] * task.q[j * task.rank + k];
      const std::int64_t at = i * task.cols + j;
      const T rest = matrix[at] - product;
      residual_sq += static_cast<double>(rest) * static_cast<double>(rest);
      if (task.target != nullptr) task.target[at] = rest;
      if (task.output != nullptr) task.output[at] = product;
      if (task.reference != nullptr) {
        const double output = static_cast<double>(product);
        const double reference = static_cast<double>(task.reference[at]);
        sums.gradient_sq += reference * reference;
        sums.averaged_sq += output * output;
        sums.difference_sq += (output - reference) * (output - reference);
        sums.dot += output * reference;
      }
    }
  }
  if (task.member_sums != nullptr) task.member_sums->residual_sq = residual_sq;
  if (task.tensor_sums != nullptr && task.reference != nullptr) *task.tensor_sums = sums;
}

#define PSGD_INSTANTIATE(T)                                \
  template void project(const MatrixTask<T>&, double);      \
  template void back_project(const MatrixTask<T>&, double); \
  template void residual(const MatrixTask<T>&);
PSGD_INSTANTIATE(float)
PSGD_INSTANTIATE(double)
#undef PSGD_INSTANTIATE

}  // namespace psgd::backend::passes
