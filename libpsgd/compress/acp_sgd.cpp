#include "libpsgd/compress/acp_sgd.hpp"

#include <algorithm>

#include "libpsgd/compress/one_factor.hpp"

namespace psgd::compress {
namespace {

std::int64_t rank_of(const TensorSlot& slot, const PowerSGDOptions& options) {
  if (slot.rows < 2 || slot.cols < 2) return -1;
  return std::min({options.matrix_approximation_rank, slot.rows, slot.cols});
}

constexpr OneFactorRules rules{.begins_with_p = true, .residual = Residual::local, .rank = rank_of};

}  // namespace

template <class T>
std::unique_ptr<Hook<T>> acp_sgd(const HookOptions& options, const HookContext<T>& context) {
  return one_factor_power_sgd(rules, options, context);
}

template std::unique_ptr<Hook<float>> acp_sgd(const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> acp_sgd(const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
