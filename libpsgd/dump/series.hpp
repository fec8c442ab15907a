#pragma once

#include <cstdint>
#include <vector>

#include "libpsgd/dump/hdf5.hpp"

namespace psgd::dump {

/// What one file records beside the gradients: a value for each step, or for each step and process rank [T, R] row by
/// row.
struct Series {
  std::vector<std::int64_t> steps;
  std::vector<float> loss_scale;           ///< empty: none recorded
  std::vector<double> loss;                ///< empty: none recorded
  std::vector<std::int32_t> accumulation;  ///< empty: none recorded
  std::vector<bool> absent;                ///< [T, R, P], true: unused; empty: every parameter was used
};

/// Reads /steps. Its length alone says how many steps are complete. Throws Error::input when it is empty, does not
/// ascend or was not written.
std::vector<std::int64_t> read_steps(const hdf5::Group& root);

/// Reads the rest; each dataset is optional and may be longer than `steps`. Throws Error::input for other extents.
Series read_series(const hdf5::Group& root, std::vector<std::int64_t> steps, std::int64_t process_ranks,
                   std::int64_t parameters);

}  // namespace psgd::dump
