#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libpsgd/compress/registry.hpp"
#include "libpsgd/dump/description.hpp"
#include "libpsgd/replay/spec.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::replay {

/// The part of a dump that is replayed.
struct Selection {
  std::vector<std::size_t> step_indices;    ///< into Description::steps, ascending
  std::vector<std::int64_t> process_ranks;  ///< recorded ids, in the order of the columns
  std::vector<std::size_t> parameters;      ///< into Description::parameters, ascending
  GradientLayout layout;
};

/// Applies --steps, --process-ranks, --parameters and --exclude. Throws Error::usage for a pattern that matches no
/// parameter and for repeated process ranks; Error::input when nothing is left, when process ranks are missing (naming
/// them), and for 0-dimensional parameters with a hook that needs matrices.
Selection select(const dump::Description& dump, const ReplaySpec& spec, const compress::HookEntry& hook);

/// Process ranks 0 … W−1 that the dump lacks.
std::vector<std::int64_t> missing_process_ranks(const dump::Description& dump);

}  // namespace psgd::replay
