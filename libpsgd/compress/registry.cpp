#include "libpsgd/compress/registry.hpp"

#include <array>
#include <type_traits>

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"
#include "libpsgd/compress/acp_sgd.hpp"
#include "libpsgd/compress/batched_power_sgd.hpp"
#include "libpsgd/compress/half_cast.hpp"
#include "libpsgd/compress/no_compression.hpp"
#include "libpsgd/compress/original_power_sgd.hpp"
#include "libpsgd/compress/power_sgd.hpp"
#include "libpsgd/compress/power_sgd_alternating.hpp"
#include "libpsgd/compress/qsgd.hpp"
#include "libpsgd/compress/random_k.hpp"
#include "libpsgd/compress/sign_norm.hpp"
#include "libpsgd/compress/svd.hpp"
#include "libpsgd/compress/top_k.hpp"

namespace psgd::compress {
namespace {

constexpr std::array table{
    HookEntry{.name = "powersgd",
              .help = "PyTorch's powerSGD_hook: tensor by tensor",
              .padding = BucketPadding::none,
              .needs_matrices = true,
              .has_power_sgd_state = true,
              .linear = true,
              .keeps_errors = true,
              .collective = Collective::all_reduce,
              .messages = 2,
              .make_float = power_sgd<float>,
              .make_double = power_sgd<double>},
    HookEntry{.name = "batched",
              .help = "PyTorch's batched_powerSGD_hook: a bucket as one square matrix",
              .padding = BucketPadding::square,
              .needs_matrices = false,
              .has_power_sgd_state = true,
              .linear = true,
              .keeps_errors = true,
              .collective = Collective::all_reduce,
              .messages = 2,
              .make_float = batched_power_sgd<float>,
              .make_double = batched_power_sgd<double>},
    HookEntry{.name = "original",
              .help = "the hook of 2020: squares, cold starts, no error feedback",
              .padding = BucketPadding::square,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .knobs = {.rank = true, .seed = true},
              .linear = true,
              .keeps_errors = false,
              .collective = Collective::all_reduce,
              .messages = 2,
              .make_float = original_power_sgd<float>,
              .make_double = original_power_sgd<double>},
    HookEntry{.name = "none",
              .help = "plain averaging",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .linear = true,
              .keeps_errors = false,
              .collective = Collective::all_reduce,
              .make_float = no_compression<float>,
              .make_double = no_compression<double>},
    HookEntry{.name = "float16",
              .help = "casting to float16, as PyTorch's fp16_compress_hook",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .linear = false,
              .keeps_errors = false,
              .collective = Collective::all_reduce,
              .make_float = float16_cast<float>,
              .make_double = float16_cast<double>},
    HookEntry{.name = "bfloat16",
              .help = "casting to bfloat16, as PyTorch's bf16_compress_hook",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .linear = false,
              .keeps_errors = false,
              .collective = Collective::all_reduce,
              .make_float = bfloat16_cast<float>,
              .make_double = bfloat16_cast<double>},
    HookEntry{.name = "top-k",
              .help = "the elements of largest magnitude, with error feedback",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .knobs = {.start = true, .error_feedback = true, .fraction = true},
              .linear = false,
              .keeps_errors = true,
              .collective = Collective::all_gather,
              .make_float = top_k<float>,
              .make_double = top_k<double>},
    HookEntry{.name = "random-k",
              .help = "random elements, the same on all process ranks, with error feedback",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .knobs = {.start = true, .error_feedback = true, .seed = true, .fraction = true},
              .linear = true,
              .keeps_errors = true,
              .local_residual = true,
              .collective = Collective::all_reduce,
              .make_float = random_k<float>,
              .make_double = random_k<double>},
    HookEntry{.name = "sign-norm",
              .help = "signs scaled by the mean magnitude, with error feedback (EF-signSGD)",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .knobs = {.start = true, .error_feedback = true},
              .linear = false,
              .keeps_errors = true,
              .collective = Collective::all_gather,
              .make_float = sign_norm<float>,
              .make_double = sign_norm<double>},
    HookEntry{.name = "qsgd",
              .help = "stochastic rounding to few levels, unbiased",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .knobs = {.seed = true, .quantization = true},
              .linear = false,
              .keeps_errors = false,
              .collective = Collective::all_gather,
              .make_float = qsgd<float>,
              .make_double = qsgd<double>},
    HookEntry{.name = "svd",
              .help = "the best approximation of a rank, process rank by process rank",
              .padding = BucketPadding::none,
              .needs_matrices = true,
              .has_power_sgd_state = false,
              .knobs = {.rank = true, .threshold = true, .start = true, .error_feedback = true},
              .linear = false,
              .keeps_errors = true,
              .collective = Collective::all_gather,
              .make_float = svd<float>,
              .make_double = svd<double>},
    HookEntry{.name = "powersgd-alternating",
              .help = "epfml/powersgd: one factor a step",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .knobs = {.rank = true, .threshold = true, .start = true, .error_feedback = true, .seed = true},
              .linear = true,
              .keeps_errors = true,
              .collective = Collective::all_reduce,
              .make_float = power_sgd_alternating<float>,
              .make_double = power_sgd_alternating<double>},
    HookEntry{.name = "acp-sgd",
              .help = "alternate compressed PowerSGD: one factor a step, local residuals",
              .padding = BucketPadding::none,
              .needs_matrices = false,
              .has_power_sgd_state = false,
              .knobs = {.rank = true, .start = true, .error_feedback = true, .seed = true},
              .linear = true,
              .keeps_errors = true,
              .local_residual = true,
              .collective = Collective::all_reduce,
              .make_float = acp_sgd<float>,
              .make_double = acp_sgd<double>},
};

}  // namespace

std::span<const HookEntry> hooks() { return table; }

const HookEntry& hook(std::string_view name) {
  std::vector<std::string_view> names;
  for (const HookEntry& candidate : table) {
    if (candidate.name == name) return candidate;
    names.push_back(candidate.name);
  }
  throw Error::usage("unknown hook \"{}\" (known: {})", name, fmt::join(names, ", "));
}

template <class T>
std::unique_ptr<Hook<T>> make_hook(const HookEntry& entry, const HookOptions& options, const HookContext<T>& context) {
  if constexpr (std::is_same_v<T, float>) {
    return entry.make_float(options, context);
  } else {
    return entry.make_double(options, context);
  }
}

template std::unique_ptr<Hook<float>> make_hook(const HookEntry&, const HookOptions&, const HookContext<float>&);
template std::unique_ptr<Hook<double>> make_hook(const HookEntry&, const HookOptions&, const HookContext<double>&);

}  // namespace psgd::compress
