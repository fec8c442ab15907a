#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/synth/gradients.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"
#include "tools/common/common_options.hpp"

namespace psgd::tools::synth {

/// What psgd-synth is asked to do.
struct SynthOptions {
  std::filesystem::path output;
  std::vector<Parameter> parameters;
  psgd::synth::GradientsOptions gradients;
  std::int64_t steps = 8;
  std::int64_t first_step = 0;
  bool per_rank = false;  ///< a file for each process rank
  bool gzip = false;
  CommonOptions common;
};

/// Reads the command line. Nothing is returned when it only asked for help or the version. Throws Error::usage naming
/// the option, Error::input for a dump after --like that cannot be read.
std::optional<SynthOptions> parse_synth_options(const std::vector<std::string>& arguments);

}  // namespace psgd::tools::synth
