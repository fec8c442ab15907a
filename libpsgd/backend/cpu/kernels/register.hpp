#pragma once

#include "libpsgd/backend/cpu/kernels/kernels.hpp"

namespace psgd::backend::kernels {

// Each file of kernels fills in its own, at the SIMD level that Highway's dispatch currently points to.
void add_elementwise(Kernels<float>& single, Kernels<double>& twofold);
void add_project(Kernels<float>& single, Kernels<double>& twofold);
void add_back_project(Kernels<float>& single, Kernels<double>& twofold);
void add_residual(Kernels<float>& single, Kernels<double>& twofold);
void add_rank_reduction(Kernels<float>& single, Kernels<double>& twofold);
void add_packing(Kernels<float>& single, Kernels<double>& twofold);
void add_tall_columns(Kernels<float>& single, Kernels<double>& twofold);
void add_tall_triangles(Kernels<float>& single, Kernels<double>& twofold);

}  // namespace psgd::backend::kernels
