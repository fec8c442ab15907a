#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace psgd::synth {

/// How the singular values σ_0 ≥ σ_1 ≥ … of a made-up gradient fall off; σ_0 is 1.
struct Spectrum {
  enum class Kind {
    flat,       ///< σ_i = 1
    power,      ///< σ_i = (i + 1)^−decay
    geometric,  ///< σ_i = decay^i
  };
  Kind kind = Kind::power;
  double decay = 1;
};

/// "flat", "power:DECAY" (DECAY ≥ 0) or "geometric:DECAY" (0 < DECAY ≤ 1). Throws Error::usage for any other text.
Spectrum spectrum_from_string(std::string_view text);
std::string to_string(const Spectrum& spectrum);

/// The first `count` singular values.
std::vector<double> singular_values(const Spectrum& spectrum, std::size_t count);

}  // namespace psgd::synth
