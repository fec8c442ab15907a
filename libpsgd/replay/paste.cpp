#include "libpsgd/replay/paste.hpp"

#include <fmt/format.h>

namespace psgd::replay {

std::string pytorch_state(const compress::PowerSGDOptions& options) {
  const auto python = [](bool value) { return value ? "True" : "False"; };
  std::string text =
      fmt::format("PowerSGDState(process_group=None, matrix_approximation_rank={}, start_powerSGD_iter={}",
                  options.matrix_approximation_rank, options.start_powerSGD_iter);
  const compress::PowerSGDOptions defaults;
  if (options.min_compression_rate != defaults.min_compression_rate)
    text += fmt::format(", min_compression_rate={}", options.min_compression_rate);
  if (!options.use_error_feedback) text += fmt::format(", use_error_feedback={}", python(options.use_error_feedback));
  if (!options.warm_start) text += fmt::format(", warm_start={}", python(options.warm_start));
  if (options.orthogonalization_epsilon != 0)
    text += fmt::format(", orthogonalization_epsilon={}", options.orthogonalization_epsilon);
  if (options.random_seed != 0) text += fmt::format(", random_seed={}", options.random_seed);
  if (options.batch_tensors_with_same_shape) text += ", batch_tensors_with_same_shape=True";
  return text + ")";
}

std::string epfml_config(const compress::PowerSGDOptions& options, int iterations) {
  return fmt::format(
      "Config(rank={}, min_compression_rate={}, num_iters_per_step={}, start_compressing_after_num_steps={})",
      options.matrix_approximation_rank, options.min_compression_rate, iterations, options.start_powerSGD_iter);
}

std::string pytorch_lines(const ReplaySpec& spec) {
  if (spec.hook == "powersgd")
    return fmt::format("model.register_comm_hook({}, powerSGD_hook)", pytorch_state(spec.power_sgd));
  if (spec.hook == "batched")
    return fmt::format("model.register_comm_hook({}, batched_powerSGD_hook)", pytorch_state(spec.power_sgd));
  if (spec.hook == "float16") return "model.register_comm_hook(None, fp16_compress_hook)";
  if (spec.hook == "bfloat16") return "model.register_comm_hook(None, bf16_compress_hook)";
  return "";
}

std::string epfml_lines(const ReplaySpec& spec) {
  if (spec.hook == "powersgd") return epfml_config(spec.power_sgd, 2);
  if (spec.hook == "powersgd-alternating") return epfml_config(spec.power_sgd, 1);
  return "";
}

}  // namespace psgd::replay
