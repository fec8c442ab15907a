#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libpsgd/backend/backend.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/synth/spectrum.hpp"
#include "libpsgd/tensor/shape.hpp"

namespace psgd::synth {

struct GradientsOptions {
  std::vector<Shape> shapes;  ///< of the parameters
  std::int64_t world_size = 1;
  Spectrum spectrum;
  std::int64_t spectrum_rank = 32;  ///< singular values that are not 0, at most
  double scale = 1;                 ///< the largest singular value
  double noise = 0.5;               ///< of a process rank: ‖G_w − Ḡ‖ / ‖Ḡ‖, about
  double drift = 0.1;               ///< how far the singular vectors turn from step to step
  std::uint32_t seed = 0;
};

/// Gradients with known singular values, step after step; the same for the same options, whatever the number of
/// threads.
///
/// A parameter's gradient is seen as PowerSGD's matrix, rows = shape[0]. Its mean over process ranks is
/// Ḡ = scale·Σ_i σ_i·u_i·v_iᵀ, i below spectrum_rank and both dimensions, so that the best error of a rank r is
/// (Σ_{i≥r} σ_i² / Σ_i σ_i²)^½. u_i and v_i are orthonormal; for the next step normal vectors of norm `drift` are added
/// to them and they are made orthonormal again. Process rank w adds N_w − N̄, N normal and independent, which leaves the
/// mean as it is but for rounding. A vector is a matrix of one column.
template <class T>
class Gradients {
 public:
  /// `backend` and `pool` are used in every step. Throws Error::usage for options out of range.
  Gradients(GradientsOptions options, backend::Backend<T>& backend, ThreadPool& pool);

  /// Makes the next step's gradients, the first step's on the first call.
  void next_step();

  /// Elements in logical order, valid until the next step; null for an empty tensor.
  [[nodiscard]] const T* gradient(std::size_t process_rank, std::size_t parameter) const;

 private:
  struct Factors {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t rank = 0;
    std::size_t begin = 0;  ///< of the parameter in a process rank's gradients
    std::vector<T> u;       ///< rows × rank
    std::vector<T> v;       ///< cols × rank
  };

  void turn(std::size_t parameter);
  void orthonormalize();
  void form_mean(const Factors& factors, T* mean) const;
  void spread(std::size_t parameter);

  GradientsOptions options_;
  backend::Backend<T>& backend_;
  ThreadPool& pool_;
  std::vector<Factors> factors_;
  std::vector<std::vector<T>> gradients_;  ///< of each process rank
  std::uint64_t step_ = 0;
};

}  // namespace psgd::synth
