#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace psgd::metrics {

/// ‖QᵀQ − I‖_F from the Gram matrix QᵀQ (cols × cols). NaN when the matrix holds one; 0 without columns.
double orthogonality(const double* gram, std::int64_t cols);

/// The first zero column of a factor, from its Gram matrix.
std::optional<std::int64_t> zero_column(const double* gram, std::int64_t cols);

/// The first pair of columns that are parallel to working precision: the sine of their angle is at most `tolerance`
/// (not below 1e-7, which is what a Gram matrix in float64 can resolve). Zero columns are parallel to nothing.
std::optional<std::pair<std::int64_t, std::int64_t>> parallel_columns(const double* gram, std::int64_t cols,
                                                                      double tolerance);

}  // namespace psgd::metrics
