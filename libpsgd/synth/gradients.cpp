#include "libpsgd/synth/gradients.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/torch_generator.hpp"

namespace psgd::synth {
namespace {

/// One seed for each of the independent streams of numbers (splitmix64's finalizer).
std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * (value + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

MatrixExtents matrix_of(const Shape& shape) { return shape.empty() ? MatrixExtents{1, 1} : matrix_extents(shape); }

void check(const GradientsOptions& options) {
  if (options.world_size < 1) throw Error::usage("a world of {} process ranks", options.world_size);
  if (options.spectrum_rank < 1) throw Error::usage("a spectrum of {} singular values", options.spectrum_rank);
  for (const double value : {options.scale, options.noise, options.drift}) {
    if (!std::isfinite(value) || value < 0) throw Error::usage("scale, noise and drift have to be 0 or more");
  }
}

}  // namespace

template <class T>
Gradients<T>::Gradients(GradientsOptions options, backend::Backend<T>& backend, ThreadPool& pool)
    : options_(std::move(options)), backend_(backend), pool_(pool) {
  check(options_);
  std::size_t size = 0;
  for (const Shape& shape : options_.shapes) {
    const auto [rows, cols] = matrix_of(shape);
    Factors factors{rows, cols, std::min({options_.spectrum_rank, rows, cols}), size, {}, {}};
    factors.u.resize(static_cast<std::size_t>(rows * factors.rank));
    factors.v.resize(static_cast<std::size_t>(cols * factors.rank));
    factors_.push_back(std::move(factors));
    size += static_cast<std::size_t>(rows * cols);
  }
  gradients_.assign(static_cast<std::size_t>(options_.world_size), std::vector<T>(size));
}

template <class T>
void Gradients<T>::next_step() {
  pool_.for_each(factors_.size(), [this](std::size_t parameter, std::size_t /*worker*/) { turn(parameter); });
  orthonormalize();
  pool_.for_each(factors_.size(), [this](std::size_t parameter, std::size_t /*worker*/) {
    const Factors& factors = factors_[parameter];
    form_mean(factors, gradients_.front().data() + factors.begin);
    spread(parameter);
  });
  ++step_;
}

template <class T>
void Gradients<T>::turn(std::size_t parameter) {
  Factors& factors = factors_[parameter];
  TorchGenerator random(mix(mix(mix(options_.seed, parameter), step_), 0));
  std::vector<T> normal;
  for (std::vector<T>* side : {&factors.u, &factors.v}) {
    normal.resize(side->size());
    random.randn(normal);
    const auto length = static_cast<double>(side == &factors.u ? factors.rows : factors.cols);
    const double factor = (step_ == 0 ? 1.0 : options_.drift) / std::sqrt(std::max(1.0, length));
    for (std::size_t i = 0; i < normal.size(); ++i) (*side)[i] += static_cast<T>(factor) * normal[i];
  }
}

template <class T>
void Gradients<T>::orthonormalize() {
  std::vector<backend::Factor<T>> all;
  for (Factors& factors : factors_) {
    if (factors.rank == 0) continue;
    all.push_back({factors.u.data(), factors.rows, factors.rank});
    all.push_back({factors.v.data(), factors.cols, factors.rank});
  }
  backend_.householder(all);
  backend_.synchronize();
}

template <class T>
void Gradients<T>::form_mean(const Factors& factors, T* mean) const {
  const auto rank = static_cast<std::size_t>(factors.rank);
  const auto cols = static_cast<std::size_t>(factors.cols);
  const std::vector<double> values = singular_values(options_.spectrum, rank);
  std::vector<T> scaled(rank * cols);  // one row for each singular vector
  for (std::size_t k = 0; k < rank; ++k) {
    const auto factor = static_cast<T>(options_.scale * values[k]);
    for (std::size_t j = 0; j < cols; ++j) scaled[k * cols + j] = factor * factors.v[j * rank + k];
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(factors.rows); ++i) {
    T* const row = mean + i * cols;
    std::fill_n(row, cols, T{0});
    for (std::size_t k = 0; k < rank; ++k) {
      const T factor = factors.u[i * rank + k];
      const T* const from = scaled.data() + k * cols;
      for (std::size_t j = 0; j < cols; ++j) row[j] += factor * from[j];
    }
  }
}

/// From the mean, which lies in the first process rank's place, to every process rank's gradient.
template <class T>
void Gradients<T>::spread(std::size_t parameter) {
  const Factors& factors = factors_[parameter];
  const auto count = static_cast<std::size_t>(factors.rows * factors.cols);
  const std::size_t ranks = gradients_.size();
  if (ranks == 1 || count == 0) return;
  const T* const first = gradients_.front().data() + factors.begin;
  const std::vector<T> mean(first, first + count);
  std::vector<T> noise_mean(count);
  for (std::size_t w = 0; w < ranks; ++w) {
    T* const gradient = gradients_[w].data() + factors.begin;
    TorchGenerator random(mix(mix(mix(options_.seed, parameter), step_), w + 1));
    random.randn({gradient, count});
    for (std::size_t i = 0; i < count; ++i) noise_mean[i] += gradient[i];
  }
  double square = 0;
  for (const double value : singular_values(options_.spectrum, static_cast<std::size_t>(factors.rank))) {
    square += value * value;
  }
  // Subtracting their mean takes a share of 1 / W of the variance away.
  const auto world = static_cast<double>(ranks);
  const auto factor = static_cast<T>(options_.noise * options_.scale *
                                     std::sqrt(square / static_cast<double>(count) * world / (world - 1)));
  const T part = T{1} / static_cast<T>(ranks);
  for (std::vector<T>& gradients : gradients_) {
    T* const gradient = gradients.data() + factors.begin;
    for (std::size_t i = 0; i < count; ++i) gradient[i] = mean[i] + factor * (gradient[i] - part * noise_mean[i]);
  }
}

template <class T>
const T* Gradients<T>::gradient(std::size_t process_rank, std::size_t parameter) const {
  const Factors& factors = factors_[parameter];
  return factors.rows * factors.cols == 0 ? nullptr : gradients_[process_rank].data() + factors.begin;
}

template class Gradients<float>;
template class Gradients<double>;

}  // namespace psgd::synth
