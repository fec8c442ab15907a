#include "tools/psgd-replay/baseline_options.hpp"

#include <array>
#include <string_view>

#include "libpsgd/base/error.hpp"

namespace psgd::tools::replay {

void check_baseline_options(const Options& options, const compress::HookEntry& hook) {
  struct Rule {
    std::string_view option;
    bool known;
  };
  const compress::HookKnobs& knobs = hook.knobs;
  const std::array own{Rule{"fraction", knobs.fraction}, Rule{"quantization-bits", knobs.quantization},
                       Rule{"quantization-chunk", knobs.quantization}};
  const std::array power_sgd{Rule{"matrix-approximation-rank", knobs.rank},
                             Rule{"min-compression-rate", knobs.threshold},
                             Rule{"start-powerSGD-iter", knobs.start},
                             Rule{"use-error-feedback", knobs.error_feedback},
                             Rule{"random-seed", knobs.seed},
                             Rule{"warm-start", false},
                             Rule{"batch-tensors-with-same-shape", false},
                             Rule{"orthogonalization-epsilon", false},
                             Rule{"compression-stats-logging-frequency", false},
                             Rule{"orthogonalization", false}};
  const auto check = [&](const Rule& rule) {
    if (options.given(rule.option) && !rule.known)
      throw Error::usage("option '--{}' means nothing to --hook {}: leave it out", rule.option, hook.name);
  };
  for (const Rule& rule : own) check(rule);
  // `none` takes them and does nothing with them, so that a command's hook can be switched off by one word; `original`
  // has rules of its own.
  if (hook.has_power_sgd_state || hook.name == "none" || hook.name == "original") return;
  for (const Rule& rule : power_sgd) check(rule);
}

}  // namespace psgd::tools::replay
