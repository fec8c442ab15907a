#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/replay/ortho_spec.hpp"

namespace psgd::replay {

/// Factors of one shape, one after the other, row-major. The values are exact in the type they are computed in.
struct FactorBatch {
  FactorShape shape;
  std::string input;
  std::vector<double> values;
};

/// One kind of test factors.
struct OrthoInput {
  std::string_view name;  ///< as --inputs spells it
  std::string_view help;
  std::int64_t least_cols;  ///< narrower factors cannot be of this kind
  bool full_rank;
  /// One factor of rows × cols, from numbers drawn after `seed`.
  std::vector<double> (*make)(std::int64_t rows, std::int64_t cols, std::uint64_t seed);
};

/// Every kind that is made up, in the order that help texts list them.
std::span<const OrthoInput> ortho_inputs();

/// Throws Error::usage naming the known ones.
const OrthoInput& ortho_input(std::string_view name);

/// What a replay's own factors are called.
inline constexpr std::string_view replay_p = "replay-p";
inline constexpr std::string_view replay_q = "replay-q";

/// A batch of the kind, rounded to `dtype`.
FactorBatch make_batch(const OrthoInput& input, const FactorShape& shape, DType dtype, std::uint32_t seed);

}  // namespace psgd::replay
