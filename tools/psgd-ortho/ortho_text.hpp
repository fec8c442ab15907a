#pragma once

#include "libpsgd/replay/ortho_advice.hpp"
#include "libpsgd/report/format.hpp"

namespace psgd::tools::ortho {

/// A row per shape, type and method, what each left of every input, and the advice, for a person.
void write_ortho_text(const psgd::replay::OrthoResult& result, const psgd::replay::OrthoAdvice& advice,
                      const report::Sink& sink);

}  // namespace psgd::tools::ortho
