#include "tools/psgd-replay/original_hook.hpp"

#include <array>
#include <string_view>

#include "libpsgd/base/error.hpp"

namespace psgd::tools::replay {

void check_original_hook(const Options& options, const psgd::replay::ReplaySpec& spec) {
  const compress::PowerSGDOptions& power_sgd = spec.power_sgd;
  struct Rule {
    std::string_view option;
    bool agrees;
    std::string_view instead;
  };
  const std::array rules{
      Rule{"start-powerSGD-iter", power_sgd.start_powerSGD_iter == 0, "it compresses from the first step on"},
      Rule{"min-compression-rate", power_sgd.min_compression_rate == 0, "it compresses every bucket"},
      Rule{"use-error-feedback", !power_sgd.use_error_feedback, "it has no error feedback"},
      Rule{"warm-start", !power_sgd.warm_start, "it draws a new Q at every step"},
      Rule{"batch-tensors-with-same-shape", !power_sgd.batch_tensors_with_same_shape, "it compresses whole buckets"},
      Rule{"orthogonalization-epsilon", power_sgd.orthogonalization_epsilon == 0, "its epsilon is 0"},
      Rule{"compression-stats-logging-frequency", false, "it keeps no statistics"},
      Rule{"orthogonalization", spec.orthogonalization == "auto" || spec.orthogonalization == "gram-schmidt",
           "it uses Gram-Schmidt"},
      Rule{"residual", spec.residual == compress::Residual::averaged, "it keeps no residual"},
      Rule{"state-in", false, "it keeps no state"},
      Rule{"state-out", false, "it keeps no state"},
  };
  for (const Rule& rule : rules) {
    if (!options.given(rule.option) || rule.agrees) continue;
    throw Error::usage("option '--{}' contradicts --hook original: {}; it takes a rank and a seed only", rule.option,
                       rule.instead);
  }
}

}  // namespace psgd::tools::replay
