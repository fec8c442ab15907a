#pragma once

#include <filesystem>

#include "libpsgd/model/network_fit.hpp"

namespace psgd::tools::sweep {

/// Reads a network from a JSON file: either the two numbers,
///
///     {"alpha": 1e-5, "bandwidth": 1.2e9}                         seconds a message, bytes a second
///
/// or all-reduces that were timed, from which both are fitted,
///
///     {"process_ranks": 8, "algorithm": "ring", "all_reduce": [{"bytes": 1048576, "seconds": 0.0021}, …]}
///
/// where `algorithm` may be left out (ring). `largest_relative_error` is 0 for the first form. Throws Error::input
/// naming the file and what is wrong: it cannot be read, is no JSON, a key is missing, unknown or of the wrong kind, or
/// a number makes no sense.
model::NetworkFit read_network_file(const std::filesystem::path& path);

}  // namespace psgd::tools::sweep
