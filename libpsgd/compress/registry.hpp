#pragma once

#include <span>
#include <string_view>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// How what a process rank sends of its compressed tensors reaches the others.
enum class Collective {
  all_reduce,  ///< summed on the way
  all_gather,  ///< each rank's message to every other: W − 1 of them arrive
};

/// The options that mean something to a compressor without a whole PowerSGDState.
struct HookKnobs {
  bool rank = false;
  bool threshold = false;  ///< min_compression_rate
  bool start = false;      ///< start_powerSGD_iter
  bool error_feedback = false;
  bool seed = false;
  bool fraction = false;      ///< BaselineOptions::fraction
  bool quantization = false;  ///< BaselineOptions::quantization_bits and quantization_chunk
};

/// One compressor, as --hook names it.
struct HookEntry {
  std::string_view name;
  std::string_view help;
  BucketPadding padding;
  bool needs_matrices;       ///< 0-dimensional parameters have no place in it
  bool has_power_sgd_state;  ///< takes all PowerSGDState parameters; else only those that `knobs` names
  HookKnobs knobs = {};
  /// What the process ranks share depends on sums alone, so that one member may stand for all of them (fused
  /// arithmetic). Otherwise each member has to be a process rank.
  bool linear;
  bool keeps_errors;  ///< has error memories when use_error_feedback is set
  /// Its error memory is what a process rank's own message left out, whatever HookOptions::residual says: norms by
  /// process rank need per-rank arithmetic.
  bool local_residual = false;
  Collective collective;  ///< of compressed tensors; the others are summed
  /// Collectives, each waiting for the one before, that the compressed tensors of a bucket take: P, then Q.
  int messages = 1;
  std::unique_ptr<Hook<float>> (*make_float)(const HookOptions&, const HookContext<float>&);
  std::unique_ptr<Hook<double>> (*make_double)(const HookOptions&, const HookContext<double>&);
};

/// Every compressor known, in the order that help texts list them.
std::span<const HookEntry> hooks();

/// Throws Error::usage naming the known ones.
const HookEntry& hook(std::string_view name);

template <class T>
std::unique_ptr<Hook<T>> make_hook(const HookEntry& entry, const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
