#pragma once

#include <string>

#include "libpsgd/replay/spec.hpp"

/// Configurations in the words of the libraries that are to run them.
namespace psgd::replay {

/// `PowerSGDState(...)` with every parameter that differs from PyTorch's default.
std::string pytorch_state(const compress::PowerSGDOptions& options);

/// epfml/powersgd's `Config(...)`, sending `iterations` factors a step: 2 for both, as PyTorch does, 1 for alternate
/// ones.
///
/// Its threshold is numel / (0.5 · iterations · rank · (rows + cols)) > min_compression_rate, so that with two
/// iterations the same number chooses the same parameters as PyTorch's, and with one it counts half.
/// (powersgd/powersgd.py, avg_compressed_size.)
std::string epfml_config(const compress::PowerSGDOptions& options, int iterations = 2);

/// The lines that register a configuration's hook in PyTorch; "" when PyTorch has no such hook.
std::string pytorch_lines(const ReplaySpec& spec);

/// The same for epfml/powersgd.
std::string epfml_lines(const ReplaySpec& spec);

}  // namespace psgd::replay
