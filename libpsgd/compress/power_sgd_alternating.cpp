#include "libpsgd/compress/power_sgd_alternating.hpp"

#include <algorithm>

#include "libpsgd/compress/one_factor.hpp"

namespace psgd::compress {
namespace {

std::int64_t rank_of(const TensorSlot& slot, const PowerSGDOptions& options) {
  const std::int64_t elements = slot.rows * slot.cols;
  if (elements == 0) return -1;
  const std::int64_t rank = std::min({options.matrix_approximation_rank, slot.rows, slot.cols});
  const double sent = 0.5 * static_cast<double>(rank) * static_cast<double>(slot.rows + slot.cols);
  return static_cast<double>(elements) / sent > options.min_compression_rate ? rank : -1;
}

constexpr OneFactorRules rules{.begins_with_p = false, .residual = Residual::averaged, .rank = rank_of};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> power_sgd_alternating(const HookOptions& options, const HookContext<T>& context) {
  return one_factor_power_sgd(rules, options, context);
}

template std::unique_ptr<Hook<float>> power_sgd_alternating(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> power_sgd_alternating(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
